"""The workloads of `./dev bench`: each file is a model as a user of streams writes it.

A file has one function `rows(quick)` that yields the rows it measures; `quick` asks for tiny sizes.
Each file is loaded twice: as it is, and with `stream` and `wait` replaced by ones that do nothing,
for eager execution, the peers and our own one-stream form. Both forms share their parameters.
"""

import contextlib
import dataclasses
import importlib.util
import os
import sys
from collections.abc import Callable

import torch

FOLDER = os.path.dirname(os.path.abspath(__file__))


@dataclasses.dataclass
class Row:
    """One line of the results.

    `make()` builds the model, which takes `inputs`. `other_forms` are {name: make} of models with
    the same parameters and results, written for peers that do better with them (or know no other);
    the first one is what ONNX Runtime gets.
    """

    name: str
    make: Callable[[], torch.nn.Module]
    inputs: list[torch.Tensor]
    other_forms: dict[str, Callable[[], torch.nn.Module]] = dataclasses.field(default_factory=dict)


def names():
    """Names of the workload files, in order: "w1_two_products" …"""
    return sorted(entry[:-3] for entry in os.listdir(FOLDER)
                  if entry.endswith(".py") and entry[0] in "wx")


def load(name, labels):
    """The module of a workload file, with its stream labels or without."""
    spec = importlib.util.spec_from_file_location(
        f"workloads.{name}_{'labelled' if labels else 'plain'}", os.path.join(FOLDER, f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where Dynamo looks for a function's globals
    spec.loader.exec_module(module)
    if not labels:
        if hasattr(module, "stream"):
            module.stream = _no_stream
        if hasattr(module, "wait"):
            module.wait = _no_wait
    return module


def _no_stream(tag):
    return contextlib.nullcontext()


def _no_wait(tensor, dependency):
    return tensor


def twin(make, model):
    """A model of `make` that has the parameters and buffers of `model`, not copies."""
    with torch.device("meta"):
        copy = make()
    copy.load_state_dict(model.state_dict(), assign=True)
    return copy.eval()
