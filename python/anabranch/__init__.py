"""anabranch: multi-stream execution of PyTorch graphs on real streams.

``torch.compile(model, backend=anabranch.backend(config))`` compiles a model; operators traced
inside ``with anabranch.stream(tag):`` run on the stream of that tag; ``anabranch.wait(a, b)`` adds
order.
Names load on first use, so that importing the package does not import torch.
"""

import importlib

__version__ = "0.1.0"

_HOMES = {
    "backend": "capture",
    "get_compiler": "capture",
    "stream": "scopes",
    "super_kernel": "scopes",
    "limit_core_num": "scopes",
    "op_never_timeout": "scopes",
    "data_dump": "scopes",
    "wait": "waits",
    "CompilerConfig": "config",
    "CompileError": "errors",
    "ScopeBreakError": "errors",
    "OptionError": "errors",
    "trace": "tracing",
    "logger": "log",
    "install_aliases": "aliases",
}
_MODULES = ("torchair", "npu")

__all__ = [*_HOMES, *_MODULES]


def __getattr__(name):
    if name not in _HOMES and name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # All at once: Dynamo reads the names of a module without calling its __getattr__.
    for public, home in _HOMES.items():
        globals()[public] = getattr(importlib.import_module(f"{__name__}.{home}"), public)
    for module in _MODULES:
        globals()[module] = importlib.import_module(f"{__name__}.{module}")
    return globals()[name]


def __dir__():
    return sorted([*globals(), *__all__])
