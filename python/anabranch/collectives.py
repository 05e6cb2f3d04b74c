"""What to write instead of a collective that Dynamo cannot trace, in Dynamo's own message.

Without it such a collective is still an error; only the way out is not named.
"""

import os
import re

import torch

FUNCTIONAL = "torch.distributed._functional_collectives"
_FOLDER = os.path.join(os.path.dirname(os.path.abspath(torch.__file__)), "distributed") + os.sep

# torch.distributed's functions, and the functional collective that says the same in a graph.
_FORMS = {
    "all_reduce": "all_reduce",
    "all_reduce_coalesced": "all_reduce_coalesced",
    "all_gather": "all_gather_single",
    "all_gather_into_tensor": "all_gather_single",
    "all_gather_single": "all_gather_single",
    "all_gather_object": "all_gather_single",
    "all_to_all": "all_to_all_single",
    "all_to_all_single": "all_to_all_single",
    "barrier": "all_reduce",
    "monitored_barrier": "all_reduce",
    "broadcast": "broadcast",
    "broadcast_object_list": "broadcast",
    "gather": "all_gather_single",
    "gather_object": "all_gather_single",
    "reduce": "all_reduce",
    "reduce_scatter": "reduce_scatter_single",
    "reduce_scatter_single": "reduce_scatter_single",
    "reduce_scatter_tensor": "reduce_scatter_single",
    "scatter": "broadcast",
    "scatter_object_list": "broadcast",
    "send": "permute_tensor",
    "recv": "permute_tensor",
    "isend": "permute_tensor",
    "irecv": "permute_tensor",
    "batch_isend_irecv": "permute_tensor",
    "P2POp": "permute_tensor",
}
# How Dynamo's messages name a function that it rewrites, but not with these arguments.
_NAMED = re.compile(r"<function (\w+) at |torch\.distributed\.(P2POp)\b")


def _traced_call(message):
    """(name, place) of the torch.distributed function that the traced program calls, or None."""
    frames = list(torch._guards.TracingContext.extract_stack())
    depth = next((depth for depth, frame in enumerate(frames)
                  if frame.filename.startswith(_FOLDER)), len(frames))
    if depth == 0:
        return None
    place = f"{frames[depth - 1].filename}:{frames[depth - 1].lineno}"
    named = _NAMED.search(message)
    inner = [frame.name for frame in frames[depth:]]
    for name in (*inner, *(named.groups() if named else ())):
        if name in _FORMS:
            return name, place
    return None


def hint(message):
    """The functional form of the collective that Dynamo has just refused, or ""."""
    try:
        call = _traced_call(message)
    except AttributeError:
        return ""
    if call is None:
        return ""
    name, place = call
    return (f"\n  Hint: instead of {name} at {place} write {FUNCTIONAL}.{_FORMS[name]}: it starts "
            "on the scope's stream, and whoever uses its result waits for it")
