"""Maps the device name "npu" to the device that anabranch runs on, in every call of torch."""

import sys

import torch
from torch.overrides import TorchFunctionMode

from anabranch.npu import device

HERE = "cpu"


def _is_npu(value):
    return isinstance(value, str) and (value == "npu" or value.startswith("npu:"))


class NpuNames(TorchFunctionMode):
    """Replaces "npu" and "npu:N" among the arguments; traceable by Dynamo."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        args = tuple(HERE if _is_npu(value) else value for value in args)
        kwargs = {name: HERE if _is_npu(value) else value for name, value in (kwargs or {}).items()}
        return function(*args, **kwargs)


def _tensor_npu(self, device=None, non_blocking=False, memory_format=torch.preserve_format):
    """The tensor on the device that anabranch runs on."""
    return self.to(HERE, non_blocking=non_blocking, memory_format=memory_format)


def _module_npu(self, device=None):
    """Moves the module to the device that anabranch runs on."""
    return self.to(HERE)


def _map_autocast():
    original = torch.autocast.__init__

    def __init__(self, device_type, *args, **kwargs):
        original(self, HERE if _is_npu(device_type) else device_type, *args, **kwargs)

    torch.autocast.__init__ = __init__


_mode = None


def is_installed():
    return _mode is not None


def install():
    """Installs the names in this thread, once; new threads share all but `device="npu"`."""
    global _mode
    if _mode is not None:
        return
    torch.Tensor.npu = _tensor_npu
    torch.Tensor.is_npu = property(lambda self: self.device.type == HERE)
    torch.nn.Module.npu = _module_npu
    torch.npu = device
    sys.modules["torch.npu"] = device
    _map_autocast()
    _mode = NpuNames()
    _mode.__enter__()
