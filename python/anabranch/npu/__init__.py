"""The names of torch_npu: `.npu()`, `device="npu"` and torch.npu mean the device anabranch runs on.

`install()` makes them work; `anabranch run` and `import torch_npu` (without the real one) call it.
"""

from anabranch.npu import device as npu
from anabranch.npu import dynamo
from anabranch.npu.names import install, is_installed

__all__ = ["dynamo", "install", "is_installed", "npu"]
