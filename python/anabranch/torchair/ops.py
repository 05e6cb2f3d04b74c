"""torchair.ops: marks, tagged events and operators of their own."""

import torch

from anabranch import waits
from anabranch.missing import not_built
from anabranch.printing import npu_print
from anabranch.waits import record

__all__ = [
    "npu_create_tagged_event",
    "npu_fused_infer_attention_score",
    "npu_fused_infer_attention_score_v2",
    "npu_print",
    "npu_record_tagged_stream",
    "npu_tagged_event_record",
    "npu_tagged_event_wait",
    "record",
    "wait",
]

_ATTENTION = "use torch.nn.functional.scaled_dot_product_attention, which runs on any device"


def wait(tensors: list):
    """The next operator on the current stream waits for the marks, or the tensors' producers."""
    waits.wait_marks(tensors)


def npu_create_tagged_event(tag: str):
    """An event that one stream of a graph records and others wait for."""
    return waits.create_event(tag)


def npu_tagged_event_record(event):
    """Records the event after the last operator so far on the current stream."""
    waits.record_event(event)


def npu_tagged_event_wait(event):
    """The next operator on the current stream waits for the event."""
    waits.wait_event(event)


def npu_record_tagged_stream(input: torch.Tensor, tagged_stream: str):
    """Does nothing: the compiler itself keeps memory alive for every stream that uses it."""
    waits.check_tagged_stream(input, tagged_stream)


@not_built("torchair.ops.npu_fused_infer_attention_score", _ATTENTION)
def npu_fused_infer_attention_score(*args, **kwargs):
    """Fused attention for inference."""


@not_built("torchair.ops.npu_fused_infer_attention_score_v2", _ATTENTION)
def npu_fused_infer_attention_score_v2(*args, **kwargs):
    """Fused attention for inference, second version."""
