"""What keeps scopes whole when Dynamo gives up a frame, and scope objects from outside usable.

Everything here that touches Dynamo's internals is guarded: without it scopes still trace, and only
the better message or the extra use is lost.
"""

import functools
import re

import torch

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


def allow_outside_objects(classes):
    """Teaches Dynamo to enter scope objects that were made outside the compiled function."""
    try:
        from torch._dynamo.guards import GuardBuilder
        from torch._dynamo.variables.builder import VariableBuilder
        from torch._dynamo.variables.ctx_manager import GenericContextWrappingVariable

        def wrap(self, value):
            self.install_guards(GuardBuilder.ID_MATCH)
            return GenericContextWrappingVariable(value, source=self.source)

        for trace_numpy in (True, False):
            table = VariableBuilder._type_dispatch_impl(trace_numpy)
            for scope_class in classes:
                table[scope_class] = wrap
    except (ImportError, AttributeError, TypeError) as problem:
        logger.warning("scope objects must be made inside the compiled function: %s", problem)


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
                hints = [line.strip() for line in lines[1:] if _FUNCTIONAL in line]
                return place, "; ".join(lines[:1] + hints[:1])
    except AttributeError:
        pass
    return "an unknown line", "the reason is unknown"


_FUNCTIONAL = "torch.distributed._functional_collectives"
# torch.distributed's functions that Dynamo cannot trace, and what says the same in a graph.
_FORMS = {
    "all_reduce": "all_reduce",
    "all_gather_into_tensor": "all_gather_tensor",
    "all_gather": "all_gather_tensor",
    "reduce_scatter_tensor": "reduce_scatter_tensor",
    "reduce_scatter": "reduce_scatter_tensor",
    "all_to_all_single": "all_to_all_single",
    "all_to_all": "all_to_all_single",
    "broadcast": "broadcast",
    "reduce": "all_reduce",
    "gather": "all_gather_tensor",
    "scatter": "broadcast",
    "send": "permute_tensor",
    "recv": "permute_tensor",
    "isend": "permute_tensor",
    "irecv": "permute_tensor",
    "batch_isend_irecv": "permute_tensor",
}
_CALL = re.compile(rf"(?:dist|distributed|c10d)\.({'|'.join(_FORMS)})\(")


def _collective_hint(message):
    """The functional form of the collective that the traced program calls, if there is one."""
    try:
        frames = torch._guards.TracingContext.extract_stack()
    except AttributeError:
        return ""
    inside = "distributed" in message or any("distributed" in frame.filename for frame in frames)
    for frame in reversed(frames if inside else []):
        call = _CALL.search(frame.line or "")
        if call:
            return (f"\n  Hint: anabranch runs {_FUNCTIONAL}.{_FORMS[call[1]]} instead of "
                    f"{call[1]} here: it starts on the scope's stream, and whoever uses its result "
                    "waits for it")
    return ""


def name_functional_collectives():
    """Makes Dynamo's message about a collective that it cannot trace name the way out."""
    try:
        kind = torch._dynamo.exc.Unsupported
        original = kind.__init__

        @functools.wraps(original)
        def explain(self, msg, *arguments, **keywords):
            original(self, f"{msg}{_collective_hint(str(msg))}", *arguments, **keywords)

        kind.__init__ = explain
    except AttributeError as problem:
        logger.warning("messages about collectives stay as torch writes them: %s", problem)


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


name_functional_collectives()
keep_out_of_own_graph(check_scope, _in_compiled_call, _last_failure)
