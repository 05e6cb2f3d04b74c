"""What an operator and a call cost around the kernels: chains of tiny operators (W7), as JSON.

CPU time of the calling thread in nanoseconds per operator, which other processes disturb little,
for eager execution, Inductor, ONNX Runtime and ours on one stream, with fused kernels and with
ATen's. `call` is the cost of a call with one operator. Kernels of 8 × 8 count as well: what is
left when two candidates run the same kernels is their own.

    ./dev bench "W7 overhead"         or ./dev run --threads 1 benchmarks/overhead.py [--quick]
"""

import argparse
import json
import statistics
import tempfile
import time

import torch

from harness import candidates

_ATEN = {"anabranch.fuse": False}
_FUSED = {"anabranch.fuse": True}
_ONE = {"ge_config.enable_single_stream": True}


class Adds(torch.nn.Module):
    """`length` sums with a number, which a compiler may fuse."""

    def __init__(self, length):
        super().__init__()
        self.length = length

    def forward(self, x):
        for _ in range(self.length):
            x = x + 1.0
        return x


class Products(Adds):
    """Products, which nothing fuses."""

    def __init__(self, length):
        super().__init__(length)
        self.weight = torch.nn.Parameter(torch.randn(8, 8) * 0.3)

    def forward(self, x):
        for _ in range(self.length):
            x = x @ self.weight
        return x


class Mixed(Products):
    """Product, sum and relu in turn; `length` counts all three."""

    def forward(self, x):
        for _ in range(self.length // 3):
            x = torch.relu(x @ self.weight + x)
        return x


class Views(Adds):
    """Transposes, which move nothing."""

    def forward(self, x):
        for _ in range(self.length):
            x = x.t()
        return x + 0


def nanoseconds(call, repeats):
    """Median CPU time of a call on this thread."""
    for _ in range(3):
        call()
    found = []
    for _ in range(repeats):
        begin = time.thread_time_ns()
        call()
        found.append(time.thread_time_ns() - begin)
    return statistics.median(found)


def measure(model, inputs, count, repeats):
    """{candidate: nanoseconds per operator, or why it has none}"""
    found = {}
    models = candidates.Models(model, model, {}, inputs, 1)
    with tempfile.TemporaryDirectory() as folder:
        makers = {
            "eager": lambda: candidates.eager(models),
            "inductor": lambda: candidates.inductor(models),
            "onnxruntime": lambda: candidates.onnxruntime(models, folder),
            "ours": lambda: candidates.ours(models, False, _ONE | _FUSED),
            "ours_aten": lambda: candidates.ours(models, False, _ONE | _ATEN),
        }
        expected = candidates.eager(models)()
        for name, maker in makers.items():
            made = candidates.make(name, maker, expected)
            failed = isinstance(made, candidates.Failure)
            found[name] = made.reason if failed else round(nanoseconds(made, repeats) / count, 1)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one operator only")
    quick = parser.parse_args().quick
    length, repeats = 501, 3 if quick else 31
    torch.set_num_threads(1)
    torch.manual_seed(0)
    result = {"unit": "ns of CPU time per operator"}
    with torch.no_grad():
        chains = {"call": (Adds(1), 1)}
        if not quick:
            chains |= {"add": (Adds(length), length), "mm": (Products(length), length),
                       "mm+add+relu": (Mixed(length), length), "view": (Views(length), length)}
        for name, (model, count) in chains.items():
            result[name] = measure(model.eval(), [torch.randn(8, 8)], count, repeats)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
