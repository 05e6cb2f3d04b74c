"""What keeps scopes whole when Dynamo gives up a frame.

Everything here that touches Dynamo's internals is guarded: without it scopes still trace, and only
the better message is lost.
"""

import functools
import sys

import torch

from anabranch import collectives, markers, progress
from anabranch.errors import ScopeBreakError
from anabranch.log import logger, warn_once

_GENERATOR = "random operators of a compiled function use the default generator (torch.manual_seed)"


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
                hints = [line.strip() for line in lines[1:]
                         if collectives.FUNCTIONAL in line or _GENERATOR in line]
                return place, "; ".join(lines[:1] + hints[:1])
    except AttributeError:
        pass
    return "an unknown line", "the reason is unknown"


# Code of a frame that Dynamo could not trace → whether a scope was open there at that moment.
_scope_was_open = {}


def _note_break():
    try:
        trace = torch._dynamo.symbolic_convert.InstructionTranslator.current_tx().output
        targets = [node.target for tracer in trace.tracers for node in tracer.graph.nodes]
        code = trace.root_tx.f_code
    except AttributeError:
        return  # not while tracing
    is_open = targets.count(markers.scope_enter) > targets.count(markers.scope_exit)
    _scope_was_open[code] = _scope_was_open.get(code, False) or is_open


def _generator_hint(message):
    if "(Generator)" not in message:
        return ""
    return (f"\n  Hint: {_GENERATOR}; "
            "draw from another one outside and pass the numbers as an argument")


def watch_breaks():
    """Notes what Dynamo cannot trace, inside a scope or not, and names the way out in its message."""
    try:
        kind = torch._dynamo.exc.Unsupported
        original = kind.__init__

        @functools.wraps(original)
        def explain(self, msg, *arguments, **keywords):
            _note_break()
            progress.end()  # the traceback begins on a line of its own
            hints = _generator_hint(str(msg)) + collectives.hint(str(msg))
            original(self, f"{msg}{hints}", *arguments, **keywords)

        kind.__init__ = explain
    except AttributeError as problem:
        logger.warning("messages about graph breaks stay as torch writes them, and every break in a "
                       "function with scopes is an error: %s", problem)


def check_scope(text):
    """Called when a scope ends in eager mode: raises if a compiled function fell back inside it."""
    if not _in_compiled_call():
        return
    place, reason = _last_failure()
    code = sys._getframe(2).f_code  # of the function with the scope: it called __exit__
    if not _scope_was_open.get(code, True):
        warn_once(code, f"{code.co_name} runs without streams: torch.compile gave it up outside "
                  f"every scope, at {place}: {reason}")
        return
    raise ScopeBreakError(
        f"a graph break inside {text}, at {place}: {reason}\n"
        "  fix: end the scope before that line and open it again after it, or make the line "
        "traceable; torch.compile(..., fullgraph=True) reports it before anything runs"
    )


watch_breaks()
keep_out_of_own_graph(check_scope, _in_compiled_call, _last_failure)
