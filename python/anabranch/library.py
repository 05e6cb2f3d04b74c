"""Loads the C++ library: `<package>/lib`, or the directory that ANABRANCH_LIBRARY_DIR names."""

import atexit
import functools
import os
import time

import torch

NAME = "libanabranch_torch.so"


def library_path():
    """The path of the library; ImportError that says how to build it."""
    folders = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib")]
    if os.environ.get("ANABRANCH_LIBRARY_DIR"):
        folders.insert(0, os.environ["ANABRANCH_LIBRARY_DIR"])
    for folder in folders:
        path = os.path.join(folder, NAME)
        if os.path.exists(path):
            return path
    raise ImportError(
        f"{NAME} is not in {' or '.join(folders)}\n"
        "  fix: run `./dev build` in the checkout, or `pip install --no-build-isolation .`"
    )


@functools.cache
def load():
    """Loads the library once; afterwards torch.ops.anabranch and torch.classes.anabranch work."""
    torch.ops.load_library(library_path())
    atexit.register(_finish_calls)
    os.register_at_fork(after_in_child=calls.clear)


# One entry for each call that has begun and not returned to Python yet. Appending and popping are
# atomic, whatever thread does it.
calls = []
_PATIENCE = 10.0  # seconds


def _finish_calls():
    """Lets the calls of other threads end before the interpreter does, and no new one begin."""
    close, end = torch.ops.anabranch.close_door, time.monotonic() + _PATIENCE
    while not close(len(calls)) and time.monotonic() < end:
        time.sleep(0.001)


def program_class():
    load()
    return torch.classes.anabranch.Program


def plan_class():
    load()
    return torch.classes.anabranch.Plan


def operators():
    load()
    return torch.ops.anabranch
