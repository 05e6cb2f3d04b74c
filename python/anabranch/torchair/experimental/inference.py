"""torchair.experimental.inference: private tensor formats, which only an NPU has."""

from typing import Optional

import torch

from anabranch.missing import not_built

__all__ = ["npu_format_cast_via_cpu", "use_internal_format_weight"]


def use_internal_format_weight(model: torch.nn.Module):
    """Does nothing: on this device the weights have no private format."""


@not_built("torchair.npu_format_cast_via_cpu", "keep the tensor as it is; every format is strided")
def npu_format_cast_via_cpu(
    self: torch.Tensor,
    acl_format: int,
    customize_dtype: Optional[int] = None,
    input_dtype: Optional[int] = None,
):
    """Casts a tensor to a private format."""
