"""Makes `import torchair`, `import torch_npu` and `import npugraph_ex` resolve to anabranch.

A real package of the name always wins.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys

HOMES = {
    "torchair": {"torchair": "anabranch.torchair"},
    "npugraph_ex": {"npugraph_ex": "anabranch.npugraph_ex"},
    "torch_npu": {
        "torch_npu.dynamo.torchair": "anabranch.torchair",
        "torch_npu.npu.amp": "anabranch.npu.amp",
        "torch_npu.npu": "anabranch.npu.device",
        "torch_npu": "anabranch.npu",
    },
}
SHIMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "shims")


class _AliasFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports `alias.x` as `home.x` and hands out the same module object."""

    def __init__(self):
        self.homes = {}  # alias → home, longer aliases first

    def _home(self, name):
        for alias, home in self.homes.items():
            if name == alias or name.startswith(alias + "."):
                return home + name[len(alias):]
        return None

    def find_spec(self, name, path=None, target=None):
        home = self._home(name)
        if home is None:
            return None
        try:
            found = home in sys.modules or importlib.util.find_spec(home) is not None
        except ModuleNotFoundError:
            found = False
        return importlib.util.spec_from_loader(name, self, origin=home) if found else None

    def create_module(self, spec):
        module = importlib.import_module(spec.origin)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module):
        # The import system has put the alias's spec on the shared module: its own comes back.
        module.__spec__ = module.__spec__.loader_state


_finder = _AliasFinder()


def real_spec(name):
    """The spec of an installed package of this name that is not our shim, or None."""
    path = [entry for entry in sys.path if os.path.abspath(entry or ".") != SHIMS]
    return importlib.machinery.PathFinder.find_spec(name, path)


def install_aliases():
    """Registers every name that no real package has; returns the names."""
    return [name for name in HOMES if _take(name)]


def _take(name):
    if real_spec(name) is not None:
        return False
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    _finder.homes.update(HOMES[name])
    return True


def take_over(name):
    """Called by the shim package `name`: puts our module, or the real one, in its place."""
    spec = real_spec(name)
    if spec is None:
        _take(name)
        sys.modules[name] = importlib.import_module(HOMES[name][name])
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
