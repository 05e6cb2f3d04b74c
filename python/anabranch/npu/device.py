"""torch.npu: one device, the one that anabranch runs on (the CPU).

Eager operators run in program order on the calling thread, so streams and events of eager mode
have nothing to order; they exist, and events measure host time.
"""

import contextlib
import resource
import time

import torch


def init():
    """Does nothing: the device is always ready."""


def is_available():
    return True


def is_initialized():
    return True


def device_count():
    return 1


def current_device():
    return 0


def set_device(device):
    """Selects the device; there is only npu:0."""
    index = int(device.partition(":")[2] or 0) if isinstance(device, str) else device
    if isinstance(index, int) and index > 0:
        raise RuntimeError(f"there is one device, npu:0, and no npu:{index}")


@contextlib.contextmanager
def device(index):
    """Selects the device inside a `with`."""
    set_device(index)
    yield


def get_device_name(device=None):
    return "anabranch cpu"


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
_current = _default


def default_stream(device=None):
    return _default


def current_stream(device=None):
    return _current


def set_stream(stream):
    global _current
    _current = stream


@contextlib.contextmanager
def stream(stream):
    """Makes the stream current inside a `with`."""
    before = _current
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


def manual_seed(seed):
    torch.manual_seed(seed)


def manual_seed_all(seed):
    torch.manual_seed(seed)
