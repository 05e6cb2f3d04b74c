"""What the machine is, as far as it matters for times; no names of hosts or users."""

import importlib.metadata
import os
import platform
import time


def _from_file(path, key):
    try:
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.startswith(key):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return ""


def _caches():
    """{"L1d": "32K", …} of the first core"""
    found, index = {}, 0
    folder = "/sys/devices/system/cpu/cpu0/cache"
    while os.path.isdir(f"{folder}/index{index}"):
        texts = []
        for name in ("level", "type", "size"):
            with open(f"{folder}/index{index}/{name}", encoding="ascii") as file:
                texts.append(file.read().strip())
        level, kind, size = texts
        found[f"L{level}" + {"Data": "d", "Instruction": "i"}.get(kind, "")] = size
        index += 1
    return found


def _widest_instructions():
    flags = _from_file("/proc/cpuinfo", "flags").split()
    known = ("amx_tile", "avx512_fp16", "avx512_bf16", "avx512f", "avx2")
    return next((flag for flag in known if flag in flags), "")


def _versions():
    found = {}
    for name in ("torch", "onnxruntime", "numpy"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "absent"
    return found


def describe():
    """A dictionary for JSON: processor, cores, caches, memory, versions, the day."""
    memory = _from_file("/proc/meminfo", "MemTotal").split()
    return {
        "processor": _from_file("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "instructions": _widest_instructions(),
        "caches": _caches(),
        "memory_gib": round(int(memory[0]) / 2**20) if memory else None,
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "versions": _versions(),
        "omp_wait_policy": os.environ.get("OMP_WAIT_POLICY", "default"),
        "day": time.strftime("%Y-%m-%d", time.gmtime()),
    }
