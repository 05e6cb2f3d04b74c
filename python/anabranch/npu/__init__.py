"""The names of torch_npu: `.npu()`, `device="npu"` and torch.npu mean the device anabranch runs on.

`install()` makes them work; `anabranch run` and `import torch_npu` (without the real one) call it.
"""

from anabranch.missing import NotBuiltAttribute, refuse
from anabranch.npu import device as npu
from anabranch.npu import dynamo
from anabranch.npu.names import install, is_installed

__all__ = ["dynamo", "install", "is_installed", "npu"]


def __getattr__(name):
    if name.startswith("npu_"):
        refuse(f"torch_npu.{name}", "write it with torch's own operators", NotBuiltAttribute)
    if name == "profiler":
        refuse("torch_npu.profiler", "use torch.profiler, or `anabranch run --timeline FILE.html`",
               NotBuiltAttribute)
    raise AttributeError(f"module 'torch_npu' has no attribute {name!r}")
