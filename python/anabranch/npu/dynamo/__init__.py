"""torch_npu.dynamo: another way to the compat tree, which loads on first use."""

import importlib

__all__ = ["torchair"]


def __getattr__(name):
    if name != "torchair":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module("anabranch.torchair")
