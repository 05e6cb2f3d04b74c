"""Maps the device name "npu" to the device that anabranch runs on, in every call of torch."""

import functools
import sys
import threading

import torch
from torch.overrides import TorchFunctionMode

from anabranch.log import logger
from anabranch.npu import device

HERE = "cpu"


def _is_npu(value):
    return isinstance(value, str) and (value == "npu" or value.startswith("npu:"))


def _here(value):
    """`value`, or the device that anabranch runs on when it names an NPU that exists."""
    if not _is_npu(value):
        return value
    device.index_of(value)
    return HERE


# Methods that Dynamo cannot trace once a mode has taken them off the tensor, and their equals.
_TRACEABLE = {torch.Tensor.unflatten: torch.unflatten}


class NpuNames(TorchFunctionMode):
    """Replaces "npu" and "npu:N" among the arguments; traceable by Dynamo."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        args = tuple(_here(value) for value in args)
        kwargs = {name: _here(value) for name, value in (kwargs or {}).items()}
        return _TRACEABLE.get(function, function)(*args, **kwargs)


def _tensor_npu(self, device=None, non_blocking=False, memory_format=torch.preserve_format):
    """The tensor on the device that anabranch runs on."""
    return self.to(HERE, non_blocking=non_blocking, memory_format=memory_format)


def _module_npu(self, device=None):
    """Moves the module to the device that anabranch runs on."""
    return self.to(HERE)


def _map_autocast():
    original = torch.autocast.__init__

    @functools.wraps(original)  # Dynamo reads the signature
    def __init__(self, device_type, *args, **kwargs):
        original(self, _here(device_type), *args, **kwargs)

    torch.autocast.__init__ = __init__


def _map_generators():
    """torch.Generator parses its device in C++, where no mode sees it."""
    original = torch.Generator

    class _Kind(type):
        def __instancecheck__(cls, value):
            return isinstance(value, original)

        def __subclasscheck__(cls, kind):
            return issubclass(kind, original)

    class Generator(metaclass=_Kind):
        __doc__ = original.__doc__

        def __new__(cls, device=HERE):
            return original(_here(device))

    torch.Generator = Generator


def _map_traced_devices():
    """Dynamo computes torch.device("npu") itself while it traces, where no mode sees it."""
    try:
        from torch._dynamo.variables import ConstantVariable, UserDefinedClassVariable

        original = UserDefinedClassVariable.call_function

        def here(variable):
            known = variable.is_python_constant() and variable.as_python_constant()
            return ConstantVariable.create(_here(known)) if _is_npu(known) else variable

        @functools.wraps(original)
        def call_function(self, tx, args, kwargs):
            if self.value is torch.device:
                args = [here(variable) for variable in args]
                kwargs = {name: here(variable) for name, variable in kwargs.items()}
            return original(self, tx, args, kwargs)

        UserDefinedClassVariable.call_function = call_function
    except (ImportError, AttributeError) as problem:
        logger.warning('torch.device("npu") cannot stand in compiled functions: %s', problem)


def _map_saved_tensors():
    """torch.load with map_location="npu", and files whose tensors were saved on an NPU."""

    def restore(storage, location):
        return storage if _is_npu(location) else None

    torch.serialization.register_package(9, lambda storage: None, restore)


def _map_process_groups():
    """The back end "hccl" is gloo here."""
    if not torch.distributed.is_available():
        return
    from torch.distributed import Backend

    def make(store, rank, size, timeout):
        return torch.distributed.ProcessGroupGloo(store, rank, size, timeout=timeout)

    if not hasattr(Backend, "HCCL"):
        Backend.register_backend("hccl", make, devices=HERE)
        torch.distributed.is_hccl_available = lambda: True


def _map_threads():
    """Modes belong to a thread: every thread that Python starts enters ours first."""
    original = threading.Thread._bootstrap_inner

    @functools.wraps(original)
    def bootstrap(self):
        _mode.__enter__()
        original(self)

    threading.Thread._bootstrap_inner = bootstrap


_mode = None


def is_installed():
    return _mode is not None


def install():
    """Installs the names in this thread and in those that Python starts later, once."""
    global _mode
    if _mode is not None:
        return
    torch.Tensor.npu = _tensor_npu
    torch.Tensor.is_npu = property(lambda self: self.device.type == HERE)
    torch.nn.Module.npu = _module_npu
    torch.npu = device
    sys.modules["torch.npu"] = device
    _map_autocast()
    _map_generators()
    _map_traced_devices()
    _map_saved_tensors()
    _map_process_groups()
    _mode = NpuNames()
    _map_threads()
    _mode.__enter__()
