"""npu_print: text and tensors printed while a compiled graph runs, in program order."""

import sys

import torch

from anabranch import breaks
from anabranch.scopes import refuse

_TENSOR = "\0"  # the place of a tensor among the words

_library = torch.library.Library("ab", "FRAGMENT")
_library.define(
    "print(Tensor[] tensors, str[] words, int summarize_size, bool tensor_detail) -> ()")
print_operator = torch.ops.ab.print.default
torch.fx.node.has_side_effect(print_operator)


def _text_of(tensor, summarize_size, tensor_detail):
    edges, threshold = (3, sys.maxsize) if summarize_size < 0 else (summarize_size, 0)
    with torch._tensor_str.printoptions(edgeitems=edges, threshold=threshold):
        text = str(tensor.detach())
    if not tensor_detail:
        return text
    return (f"Tensor(shape={tuple(tensor.shape)}, dtype={tensor.dtype}, "
            f"stride={tensor.stride()}):\n{text}")


def _print(tensors, words, summarize_size, tensor_detail):
    remaining = iter(tensors)
    shown = [_text_of(next(remaining), summarize_size, tensor_detail) if word == _TENSOR else word
             for word in words]
    print(*shown, flush=True)


_library.impl("print", _print, "CompositeExplicitAutograd")
torch.library.register_fake("ab::print", lambda *arguments: None, lib=_library)


def npu_print(*args, summarize_size=3, tensor_detail=False):
    """Prints the arguments, tensors among them, when the graph gets there; a space between two.

    Prints keep program order among themselves and come after what makes their tensors. Of each
    dimension `summarize_size` items are shown at both ends; -1 shows all. `tensor_detail` adds
    shape, dtype and stride. TypeError for other values.
    """
    if isinstance(summarize_size, bool) or not isinstance(summarize_size, int):
        refuse("TypeError", f"summarize_size must be an int, not {type(summarize_size).__name__}")
    elif not isinstance(tensor_detail, bool):
        refuse("TypeError", f"tensor_detail must be a bool, not {type(tensor_detail).__name__}")
    else:
        tensors = [item for item in args if isinstance(item, torch.Tensor)]
        words = [_TENSOR if isinstance(item, torch.Tensor) else str(item) for item in args]
        print_operator(tensors, words, summarize_size, tensor_detail)


breaks.keep_out_of_own_graph(npu_print)
