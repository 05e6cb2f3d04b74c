"""Compiles the kernels of a program into one shared library, kept on disk for the next time.

Nearly all of the compiler's time goes into Inductor's header. The first program compiles it as it
is, while another compiler, which nobody waits for, makes a precompiled form for all later ones.
"""

import functools
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile

import torch

from anabranch.cache import cache_folder

_FEW = 6  # so many kernels take about as long as the header that they include
_HEADER = """#include <torch/csrc/inductor/cpp_prefix.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <c10/util/Unroll.h>
"""


class BuildError(Exception):
    """The kernels cannot be compiled; the reason is the message."""


def kernel_folder():
    """The folder of compiled kernels: cache_folder(), or where that cannot be made a temporary one.

    Raises BuildError when somebody else could write to it: its files are loaded and run.
    """
    folder = cache_folder()
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError:
        folder = os.path.join(tempfile.gettempdir(), f"anabranch_{os.getuid()}")
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        except OSError as problem:
            raise BuildError(f"no folder for compiled kernels: {problem}") from None
    found = os.stat(folder)
    if found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise BuildError(f"{folder} can be changed by other users")
    return folder


def build(kernels, cores):
    """The path of a library with the kernels, which must have different symbols. Raises BuildError."""
    kernels = sorted(kernels, key=lambda kernel: kernel.symbol)
    command = _command()
    parts = 1 if len(kernels) <= _FEW else cores
    key = hashlib.sha256(repr((_machine(), command, [kernel.text for kernel in kernels]))
                         .encode()).hexdigest()[:32]
    folder = kernel_folder()
    path = os.path.join(folder, f"kernels_{key}.so")
    if os.path.exists(path):
        return path
    work = tempfile.mkdtemp(prefix="build_", dir=folder)
    try:
        objects = _compile(kernels, command, work, parts)
        made = os.path.join(work, "kernels.so")
        # Vector functions (exp, erf …) are torch's own, which the process has loaded.
        libraries = os.path.join(os.path.dirname(torch.__file__), "lib")
        _wait([_start([command[0], "-shared", "-fopenmp", *objects, "-L", libraries, "-ltorch_cpu",
                       "-lc10", "-o", made])])
        os.replace(made, path)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return path


def _compile(kernels, command, work, parts):
    running, objects = [], []
    header = _header_folder(command)
    for part in range(min(parts, len(kernels))):
        source = os.path.join(work, f"part{part}.cpp")
        with open(source, "w", encoding="utf-8") as file:
            file.write('#include "prefix.h"\n')
            file.writelines(kernel.text for kernel in kernels[part::parts])
        objects.append(source[:-4] + ".o")
        running.append(_start([*command, "-I", header, "-c", source, "-o", objects[-1]]))
    _wait(running)
    _precompile(command, header)
    return objects


def _header_folder(command):
    """The folder of the header and, once it is made, of its precompiled form."""
    key = hashlib.sha256(repr((_machine(), command, _HEADER)).encode()).hexdigest()[:32]
    folder = os.path.join(kernel_folder(), f"header_{key}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, "prefix.h")
    if not os.path.exists(path):
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as file:
            file.write(_HEADER)
        os.replace(file.name, path)
    return folder


def _precompile(command, folder):
    """Starts the making of the precompiled header, unless somebody has."""
    try:
        os.close(os.open(os.path.join(folder, "begun"), os.O_CREAT | os.O_EXCL))
    except OSError:
        return
    source, made = os.path.join(folder, "prefix.h"), os.path.join(folder, "prefix.h.gch")
    script = 'out=$1; shift; (nice -n 19 "$@" -o "$out.part" && mv "$out.part" "$out") &'
    subprocess.run(["sh", "-c", script, "sh", made, *command, "-x", "c++-header", source],
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   start_new_session=True, check=False)


def _start(command):
    try:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except OSError as problem:
        raise BuildError(f"{command[0]} cannot be run: {problem}") from None


def _wait(running):
    said = [process.communicate()[0] for process in running]
    for process, text in zip(running, said, strict=True):
        if process.returncode != 0:
            lines = text.strip().splitlines()
            first = next((line for line in lines if "error" in line), lines[-1] if lines else "")
            raise BuildError(f"{process.args[0]} failed: {first}")


@functools.cache
def _command():
    """The compiler with Inductor's own flags, so that the numbers are Inductor's."""
    from torch._inductor import cpp_builder, cpu_vec_isa

    options = cpp_builder.CppTorchOptions(vec_isa=cpu_vec_isa.pick_vec_isa(), warning_all=False)
    flags = [f"-{flag}" for flag in options.get_cflags() if flag not in ("g1", "shared", "pedantic")]
    definitions = [f"-D{name.strip()}" for name in options.get_definitions()]
    includes = [item for folder in options.get_include_dirs() for item in ("-I", folder)]
    passed = [word for text in options.get_passthrough_args() for word in text.split()]
    return [options.get_compiler(), "-w", "-fvisibility=hidden", *flags, *definitions, *includes,
            *passed]


@functools.cache
def _machine():
    """What compiled code depends on beside its text: the processor, the compiler, torch."""
    compiler = subprocess.run([_command()[0], "--version"], capture_output=True, text=True,
                              check=False).stdout
    processor = platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            processor += "".join(line for line in file.read().split("\n\n")[0].splitlines()
                                 if line.startswith(("model", "flags", "vendor", "Features")))
    except OSError:
        processor += platform.processor()
    return processor, compiler, torch.__version__
