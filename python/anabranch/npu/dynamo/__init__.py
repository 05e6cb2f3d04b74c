"""torch_npu.dynamo: another way to the compat tree."""

from anabranch import torchair

__all__ = ["torchair"]
