"""Maps the device name "npu" to the device that anabranch runs on, in every call of torch."""

import functools
import sys
import threading
from collections.abc import Hashable

import torch
from torch.overrides import TorchFunctionMode

from anabranch.npu import amp, device, traced

HERE = "cpu"


def _is_npu(value):
    return isinstance(value, str) and (value == "npu" or value.startswith("npu:"))


def _here(value):
    """`value`, or the device that anabranch runs on when it names an NPU that exists."""
    if not isinstance(value, str):
        return value
    if value.startswith("torch.npu."):  # torch.npu.FloatTensor and its like
        return value.replace("torch.npu.", "torch.", 1)
    if not _is_npu(value):
        return value
    device.index_of(value)
    return HERE


# Functions whose argument at this position is a device, of which a bare number is an NPU's.
_NUMBERED = {torch.device: 0, torch.Tensor.to: 1, torch._C._nn._parse_to: 0}


def _is_number(value):
    return isinstance(value, int) and not isinstance(value, bool)


def _same(argument, value=None):
    """How arguments are read and written outside of Dynamo."""
    return argument if value is None else value


def _mapped(function, args, kwargs, read=_same, write=_same):
    """The arguments with the names of NPUs replaced.

    `read(argument)` gives an argument's value, `write(argument, value)` one that has another value.
    """

    def here(argument, is_device):
        value = read(argument)
        if is_device and _is_number(value):
            value = f"npu:{value}"
        mapped = _here(value)
        return argument if mapped is read(argument) else write(argument, mapped)

    numbered = _NUMBERED.get(function, -1) if isinstance(function, Hashable) else -1
    args = tuple(here(argument, place == numbered) for place, argument in enumerate(args))
    kwargs = {name: here(argument, name == "device") for name, argument in kwargs.items()}
    if kwargs.get("pin_memory") is not None and read(kwargs["pin_memory"]) is True:
        kwargs["pin_memory"] = write(kwargs["pin_memory"], False)  # all memory is the host's
    return args, kwargs


class NpuNames(TorchFunctionMode):
    """Replaces the names of NPUs among the arguments. Dynamo does not see it: see traced.py."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        args, kwargs = _mapped(function, args, kwargs or {})
        if function is torch.Tensor.pin_memory:
            return args[0]
        return function(*args, **kwargs)


def _tensor_npu(self, device=None, non_blocking=False, memory_format=torch.preserve_format):
    """The tensor on the device that anabranch runs on."""
    return self.to(HERE, non_blocking=non_blocking, memory_format=memory_format)


def _module_npu(self, device=None):
    """Moves the module to the device that anabranch runs on."""
    return self.to(HERE)


def _map_autocast():
    """What keeps the name of its device, or parses it in C++ where no mode sees it."""
    for kind, keyword in ((torch.autocast, "device_type"), (torch.amp.GradScaler, "device")):
        kind.__init__ = _built_here(kind.__init__, keyword)
    for name in ("is_autocast_enabled", "set_autocast_enabled",
                 "get_autocast_dtype", "set_autocast_dtype"):
        setattr(torch, name, _with_device_here(getattr(torch, name)))
    torch._C._is_autocast_available = _with_device_here(torch._C._is_autocast_available)


def _built_here(original, keyword):
    @functools.wraps(original)  # Dynamo reads the signature
    def __init__(self, *args, **kwargs):
        if keyword in kwargs:
            kwargs[keyword] = _here(kwargs[keyword])
        original(self, *map(_here, args[:1]), *args[1:], **kwargs)

    return __init__


def _with_device_here(original):
    @functools.wraps(original)
    def mapped(*args, **kwargs):
        return original(*map(_here, args), **kwargs)

    return mapped


def _map_device_module():
    original = torch.get_device_module

    @functools.wraps(original)
    def get_device_module(device=None):
        return torch.npu if _is_npu(device) else original(device)

    torch.get_device_module = get_device_module


def _map_generators():
    """torch.Generator parses its device in C++, where no mode sees it."""
    original = torch.Generator

    class _Kind(type(original)):
        def __instancecheck__(cls, value):
            return isinstance(value, original) if cls is Generator else (
                super().__instancecheck__(value))

    class Generator(original, metaclass=_Kind):
        __doc__ = original.__doc__

        def __new__(cls, device=HERE):
            return super().__new__(cls, _here(device))

    # By this name a generator is pickled.
    Generator.__module__, Generator.__qualname__ = "torch", "Generator"
    torch.Generator = Generator


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


def _map_backward():
    """While a mode handles a function it is away; but hooks of the user run inside a backward."""
    original = torch.autograd._engine_run_backward

    @functools.wraps(original)
    def run(*args, **kwargs):
        with _mode:
            return original(*args, **kwargs)

    torch.autograd._engine_run_backward = run


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
    device.amp = sys.modules["torch.npu.amp"] = amp
    traced.install(NpuNames, _mapped)
    _map_autocast()
    _map_device_module()
    _map_generators()
    _map_saved_tensors()
    _map_process_groups()
    _map_backward()
    _mode = NpuNames()
    _map_threads()
    _mode.__enter__()
