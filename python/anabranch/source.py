"""Source lines: the user's frame in the stack trace of a traced operator."""

import os
import re

import torch

_FRAME = re.compile(r'^\s*File "(?P<file>.+)", line (?P<line>\d+), in (?P<function>.+)$', re.M)
_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep


def source_of(node):
    """(file, line, function) of the innermost frame outside anabranch and torch, or None.

    When every frame is torch's own, the innermost of those: better than nothing.
    """
    trace = node.stack_trace
    if not trace:
        return None
    best = None
    for frame in _FRAME.finditer(trace):
        file = frame["file"]
        if file.startswith(_OURS):
            continue
        place = (file, int(frame["line"]), frame["function"].strip())
        if not file.startswith(_TORCH) or best is None or best[0].startswith(_TORCH):
            best = place
    return best


def describe_source(node):
    """`model.py:12 in forward`, or "" when the node has no source line."""
    place = source_of(node)
    return f"{place[0]}:{place[1]} in {place[2]}" if place else ""
