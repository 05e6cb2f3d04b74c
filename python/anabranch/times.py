"""Where measured durations of operators are kept: a file for each kind of machine."""

import functools
import hashlib
import os
import platform

import torch

from anabranch.cache import cache_folder


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
