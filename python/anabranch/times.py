"""Where measured durations of operators are kept: a file for each kind of machine."""

import functools
import hashlib
import os
import platform

import torch


def cache_folder():
    """ANABRANCH_CACHE_DIR, or `anabranch` in the user's cache folder."""
    own = os.environ.get("ANABRANCH_CACHE_DIR")
    if own:
        return own
    user = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(user, "anabranch")


def time_file(threads):
    """The file for this machine, this torch and so many threads."""
    machine = hashlib.sha256(f"{_processor()} {os.cpu_count()}".encode()).hexdigest()[:12]
    return os.path.join(cache_folder(), f"times-{machine}-{torch.__version__}-{threads}.txt")


@functools.cache
def _processor():
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines
                        if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
