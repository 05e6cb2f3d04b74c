"""torch.npu: one device for each process of this machine, all of them the CPU.

Eager operators run in program order on the calling thread, so streams and events of eager mode
have nothing to order; they exist, and events measure host time.
"""

import contextlib
import os
import resource
import threading
import time
import types

import torch

from anabranch import log
from anabranch.missing import NotBuiltAttribute, refuse


def init():
    """Does nothing: the device is always ready."""


def is_available():
    return True


def is_initialized():
    return True


def device_count():
    """One device; under torchrun one for each of its processes on this machine."""
    return max(1, int(os.environ.get("LOCAL_WORLD_SIZE", "1")))


def index_of(device):
    """The number of a device: an int, "npu", "npu:N", a torch.device, None for the current one.

    RuntimeError when there is no such device.
    """
    if isinstance(device, torch.device) or device is None:
        return current_device()
    index = device
    if isinstance(device, str):
        number = device.partition(":")[2]
        index = int(number) if number.isdecimal() else 0 if device == "npu" else None
    if not isinstance(index, int) or not 0 <= index < device_count():
        raise RuntimeError(f"there is no device {device}: this process sees "
                           f"{device_count()}, from npu:0 on")
    return index


_selected = 0


def current_device():
    return _selected


def set_device(device):
    """Selects the device, for `current_device`: all of them are the CPU."""
    global _selected
    _selected = index_of(device)


@contextlib.contextmanager
def device(index):
    """Selects the device inside a `with`."""
    before = current_device()
    set_device(index)
    try:
        yield
    finally:
        set_device(before)


def device_of(tensor):
    return device(current_device())


def get_device_name(device=None):
    return "anabranch cpu"


def get_device_properties(device=None):
    """Name and memory (bytes) of the device: those of the host."""
    index_of(device)
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return types.SimpleNamespace(name=get_device_name(), total_memory=total)


def get_device_capability(device=None):
    """None, as on an NPU: capabilities are a notion of CUDA."""


def can_device_access_peer(device_id, peer_device_id):
    return index_of(device_id) != index_of(peer_device_id)


def is_bf16_supported():
    return True


def synchronize(device=None):
    """Does nothing: no work is left when a call returns."""


class Stream:
    """A stream of eager mode; its operators run at once, in program order."""

    def __init__(self, device=None, priority=0, **keywords):
        self.priority = priority

    def synchronize(self):
        """Does nothing: all work is done."""

    def query(self):
        return True

    def wait_stream(self, stream):
        """Does nothing: program order is kept."""

    def wait_event(self, event):
        """Does nothing: program order is kept."""

    def record_event(self, event=None):
        event = Event() if event is None else event
        event.record(self)
        return event


class Event:
    """A point in time of eager mode."""

    def __init__(self, enable_timing=False, blocking=False, interprocess=False):
        self._time = None

    def record(self, stream=None):
        self._time = time.perf_counter()

    def wait(self, stream=None):
        """Does nothing: program order is kept."""

    def query(self):
        return True

    def synchronize(self):
        """Does nothing: all work is done."""

    def elapsed_time(self, end_event):
        """Milliseconds of host time between the two records."""
        if self._time is None or end_event._time is None:
            raise RuntimeError("both events must be recorded before elapsed_time")
        return (end_event._time - self._time) * 1000


_default = Stream()
_local = threading.local()


def default_stream(device=None):
    return _default


def current_stream(device=None):
    """The current stream of this thread."""
    return getattr(_local, "stream", _default)


def set_stream(stream):
    _local.stream = stream


@contextlib.contextmanager
def stream(stream):
    """Makes the stream current inside a `with`."""
    before = current_stream()
    if stream is not None:
        set_stream(stream)
    try:
        yield
    finally:
        set_stream(before)


def empty_cache():
    """Does nothing: the allocator of the host has no cache of its own."""


_most_seen = 0


def memory_allocated(device=None):
    """Bytes that the process has in memory."""
    global _most_seen
    with open("/proc/self/statm", encoding="ascii") as file:
        now = int(file.read().split()[1]) * resource.getpagesize()
    _most_seen = max(_most_seen, now)
    return now


memory_reserved = memory_allocated


def max_memory_allocated(device=None):
    """Most bytes that the process has had in memory."""
    # The kernel updates its own maximum late, so it can be below what was just seen.
    return max(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, _most_seen)


max_memory_reserved = max_memory_allocated


def reset_peak_memory_stats(device=None):
    """Does nothing: the peak belongs to the process."""


def mem_get_info(device=None):
    """(free, total) bytes of the host's memory."""
    page = os.sysconf("SC_PAGE_SIZE")
    return os.sysconf("SC_AVPHYS_PAGES") * page, os.sysconf("SC_PHYS_PAGES") * page


def memory_stats(device=None):
    """The figures above under torch's names, in bytes."""
    now, most = memory_allocated(), max_memory_allocated()
    return {f"{kind}_bytes.all.{which}": value for kind in ("allocated", "reserved")
            for which, value in (("current", now), ("peak", most))}


reset_max_memory_allocated = reset_peak_memory_stats


def manual_seed(seed):
    torch.manual_seed(seed)


manual_seed_all = manual_seed


def seed():
    torch.seed()


seed_all = seed


def initial_seed():
    return torch.initial_seed()


def get_rng_state(device=None):
    return torch.get_rng_state()


def set_rng_state(new_state, device=None):
    torch.set_rng_state(new_state)


def get_rng_state_all():
    return [torch.get_rng_state()]


def set_rng_state_all(new_states):
    torch.set_rng_state(new_states[0])


def set_compile_mode(jit_compile=False):
    """Does nothing, and says so: there is no operator compiler to switch."""
    log.warn_once("set_compile_mode", "torch.npu.set_compile_mode has no effect here")


def set_option(option):
    """Does nothing, and says so: these are options of a driver that is not here."""
    log.warn_once("set_option", f"torch.npu.set_option has no effect here: {sorted(option)}")


_CAPTURE = 'use torch.compile(model, backend="anabranch", mode="reduce-overhead")'
_NOT_BUILT = {
    "ExternalStream": "there is no driver whose streams could be taken over",
    "NPUGraph": _CAPTURE,
    "caching_allocator_alloc": "make a tensor",
    "caching_allocator_delete": "delete the tensor",
    "graph": _CAPTURE,
    "graph_pool_handle": _CAPTURE,
    "ipc_collect": "use torch.multiprocessing, which shares memory of the host",
    "make_graphed_callables": _CAPTURE,
    "memory_snapshot": "use a profiler of the host's memory",
    "memory_summary": "use torch.npu.memory_stats",
    "set_per_process_memory_fraction": "limit the process's memory by the operating system",
    "utilization": "use the operating system's tools",
}


def __getattr__(name):
    if name.endswith("Tensor") and isinstance(getattr(torch, name, None), type):
        return getattr(torch, name)  # FloatTensor and its like
    if name in _NOT_BUILT:
        refuse(f"torch.npu.{name}", _NOT_BUILT[name], NotBuiltAttribute)
    raise AttributeError(f"module 'torch.npu' has no attribute {name!r}")
