"""What keeps scopes whole when Dynamo gives up a frame.

Everything here that touches Dynamo's internals is guarded: without it scopes still trace, and only
the better message is lost.
"""

import torch

from anabranch.collectives import FUNCTIONAL
from anabranch.errors import ScopeBreakError
from anabranch.log import logger


def keep_out_of_own_graph(*functions):
    """Stops Dynamo from compiling these functions as frames of their own.

    After a graph break Dynamo runs a frame eagerly and compiles the functions that it calls, which
    would make a graph with half a scope. Inlining while tracing still works.
    """
    for function in functions:
        code = getattr(function, "__code__", None)
        if code is not None:
            torch._dynamo.eval_frame.skip_code(code)


def _in_compiled_call():
    """True while a compiled function runs a frame that Dynamo gave up."""
    try:
        callback = torch._C._dynamo.eval_frame.get_eval_frame_callback()
    except AttributeError:
        return False
    return callback is not None and callback is not False


def _last_failure():
    """(place, reason) of the last frame that Dynamo could not compile."""
    try:
        for entry in reversed(torch._dynamo.utils.get_compilation_metrics()):
            if entry.fail_type:
                place = f"{entry.fail_user_frame_filename}:{entry.fail_user_frame_lineno}"
                lines = (entry.fail_reason or "").strip().split("\n")
                hints = [line.strip() for line in lines[1:] if FUNCTIONAL in line]
                return place, "; ".join(lines[:1] + hints[:1])
    except AttributeError:
        pass
    return "an unknown line", "the reason is unknown"


def check_scope(text):
    """Called when a scope ends in eager mode: raises if a compiled function fell back inside it."""
    if not _in_compiled_call():
        return
    place, reason = _last_failure()
    raise ScopeBreakError(
        f"a graph break inside {text}, at {place}: {reason}\n"
        "  fix: end the scope before that line and open it again after it, or make the line "
        "traceable; torch.compile(..., fullgraph=True) reports it before anything runs"
    )


keep_out_of_own_graph(check_scope, _in_compiled_call, _last_failure)
