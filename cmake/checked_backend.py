"""The build backend: scikit-build-core, after a check that what it needs is there.

pip shows a missing build requirement as a long trace; this module says it in one error with the
command that installs it. (Libraries that CMake needs are checked in cmake/Dependencies.cmake.)
"""

import importlib.util
import shutil


def _check():
    modules = {"scikit-build-core": "scikit_build_core", "torch==2.13.0": "torch"}
    programs = {"g++": ("c++", "g++"), "cmake": ("cmake",), "ninja-build": ("ninja",)}
    pip = [name for name, module in modules.items() if importlib.util.find_spec(module) is None]
    apt = [name for name, names in programs.items() if not any(map(shutil.which, names))]
    commands = []
    if pip:
        commands.append("python -m pip install " + " ".join(pip))
    if apt:
        commands.append("sudo apt-get install " + " ".join(apt))
    if commands:
        lines = "\n  ".join(commands)
        raise SystemExit(
            "anabranch: build dependencies are missing. Install them with:\n  "
            f"{lines}\nand build without isolation: pip install --no-build-isolation ."
        )


_check()

from scikit_build_core.build import *  # noqa: E402,F403
