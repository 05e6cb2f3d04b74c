"""Extra order that the user asks for: waits on tensors, recorded marks, tagged events."""

import torch

from anabranch import breaks, dynamo, markers
from anabranch.scopes import refuse


def npu_wait_tensor(self: torch.Tensor, dependency: torch.Tensor) -> torch.Tensor:
    """After this call every later use of `self` waits for the operator that made `dependency`.

    Returns `self`. It never copies, and does nothing in eager mode.
    """
    if not isinstance(self, torch.Tensor):
        refuse("TypeError", f"self must be a Tensor, not {type(self).__name__}")
    elif not isinstance(dependency, torch.Tensor):
        refuse("TypeError", f"dependency must be a Tensor, not {type(dependency).__name__}")
    elif torch.compiler.is_compiling():
        markers.wait_mark(self, dependency)
    return self


wait = npu_wait_tensor


def record():
    """Marks the last operator so far on the current stream; give the result to wait_marks."""
    if torch.compiler.is_compiling():
        return markers.record_mark()
    return torch.empty(0)


def wait_marks(tensors: list):
    """The next operator on the current stream waits for the marks, or the tensors' producers."""
    if not isinstance(tensors, (list, tuple)) or len(tensors) == 0:
        refuse("ValueError", "wait needs a list of at least one tensor")
        return
    for tensor in tensors:
        if not isinstance(tensor, torch.Tensor):
            refuse("ValueError", f"wait takes tensors only, not {type(tensor).__name__}")
            return
    if torch.compiler.is_compiling():
        markers.wait_marks(list(tensors))


def create_event(tag: str) -> str:
    """A tagged event of graphs: recorded on one stream, waited for on others."""
    if not isinstance(tag, str):
        refuse("TypeError", f"tag must be a str, not {type(tag).__name__}")
    return tag


def _is_event(event):
    if not isinstance(event, str):
        refuse("TypeError", f"event must be a tagged event, not {type(event).__name__}")
        return False
    return True


def check_tagged_stream(tensor, tag):
    """Refuses what is no tensor and no tag."""
    if not isinstance(tensor, torch.Tensor):
        refuse("TypeError", f"input must be a Tensor, not {type(tensor).__name__}")
    elif not isinstance(tag, str):
        refuse("TypeError", f"tagged_stream must be a str, not {type(tag).__name__}")


def record_event(event):
    """Records the event after the last operator so far on the current stream."""
    if _is_event(event) and torch.compiler.is_compiling():
        markers.event_record(event)


def wait_event(event):
    """The next operator on the current stream waits for the event's last record in this graph."""
    if _is_event(event) and torch.compiler.is_compiling():
        markers.event_wait(event)


breaks.keep_out_of_own_graph(
    npu_wait_tensor, record, wait_marks, create_event, record_event, wait_event, _is_event,
    check_tagged_stream,
)
dynamo.know_wait(npu_wait_tensor)
