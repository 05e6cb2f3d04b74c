"""torchair.llm_datadist: tensors on memory that a transfer engine owns."""

from typing import List

import torch

from anabranch.missing import not_built

__all__ = ["create_npu_tensors"]


@not_built(
    "torchair.llm_datadist.create_npu_tensors",
    "use torch.frombuffer on memory that this process owns",
)
def create_npu_tensors(
    shape: List[int], dtype: torch.dtype, addresses: List[int]
) -> List[torch.Tensor]:
    """Tensors on memory at the addresses."""
