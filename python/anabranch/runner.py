"""Runs a TorchAir script, unmodified, on this machine."""

import argparse
import contextlib
import os
import sys
import types

from anabranch import aliases


def parse(arguments):
    parser = argparse.ArgumentParser(prog="anabranch", description="multi-stream PyTorch graphs")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run a script written for TorchAir or anabranch")
    run.add_argument("--trace", metavar="FILE.json", help="write a Chrome trace (Perfetto)")
    run.add_argument("--timeline", metavar="FILE.html", help="write a timeline page")
    run.add_argument("--threads", type=int, metavar="N", help="threads that operators share")
    run.add_argument("script")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    return parser.parse_args(arguments)


def _prepare_environment(threads):
    """Settings that must be there before torch loads, and that child processes inherit."""
    # libgomp's threads would spin after each operator and take the cores of the other streams.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    if threads:
        os.environ["OMP_NUM_THREADS"] = str(threads)
    package_parent = os.path.dirname(os.path.dirname(os.path.abspath(aliases.__file__)))
    paths = [aliases.SHIMS, package_parent, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(path for path in paths if path))
    sys.path.append(aliases.SHIMS)  # names the backend when the package is not installed


def _install_names():
    if aliases.real_spec("torch_npu") is not None:
        print("anabranch: torch_npu is installed, so the script runs on it and its names stay "
              "as they are", file=sys.stderr)
        return
    aliases.install_aliases()
    from anabranch.npu import install

    install()


def _execute(script):
    """Runs the file as the module __main__, which stays in place for whatever runs at exit."""
    module = types.ModuleType("__main__")
    module.__file__ = script
    module.__builtins__ = __builtins__
    sys.modules["__main__"] = module
    with open(script, "rb") as file:
        code = compile(file.read(), script, "exec")
    exec(code, module.__dict__)


def main(arguments=None):
    options = parse(arguments)
    if not os.path.exists(options.script):
        print(f"anabranch: there is no script {options.script}", file=sys.stderr)
        return 2
    _prepare_environment(options.threads)
    _install_names()
    if options.threads:
        import torch

        torch.set_num_threads(options.threads)
    sys.argv = [options.script, *options.arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(options.script))
    recording = contextlib.nullcontext()
    if options.trace or options.timeline:
        from anabranch.tracing import trace

        recording = trace(options.trace, options.timeline)
    with recording:
        _execute(options.script)
    return 0
