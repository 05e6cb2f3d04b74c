"""Streams against one stream on the two-stream example: the ratio of wall times, as JSON.

Two independent half-precision products (ATen runs each on one thread on CPUs without AVX512-FP16)
are put on two streams; the same model without scopes is the baseline, and both use eager's kernels,
whose bits they are checked for. Both are called in turn within one run, so that a busy neighbour hits
both; medians and the spread of the paired ratios are printed. All other workloads: ./dev bench.

    ./dev run benchmarks/two_streams.py [--size 1000] [--pairs 9]
"""

import argparse
import json
import platform
import statistics
import time

import torch

import anabranch
from anabranch.config import CompilerConfig


class Example(torch.nn.Module):
    """The example of the README; `labels` switches its scopes on."""

    def __init__(self, labels: bool):
        super().__init__()
        self.labels = labels

    def forward(self, in1, in2, in3, in4):
        added = torch.add(in1, in2)
        if not self.labels:
            return added, torch.mm(in3, in4), torch.mm(in3, in4), torch.add(in3, in4)
        with anabranch.stream("1"):
            anabranch.wait(in4, added)
            product = torch.mm(in3, in4)
        main = torch.mm(in3, in4)
        with anabranch.stream("2"):
            anabranch.wait(in4, product)
            last = torch.add(in3, in4)
        return added, product, main, last


def seconds(call, inputs) -> float:
    """Wall time of one call, in seconds."""
    begin = time.perf_counter()
    call(*inputs)
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=1000, help="rows and columns of the matrices")
    parser.add_argument("--pairs", type=int, default=9, help="interleaved pairs of calls")
    arguments = parser.parse_args()
    inputs = [torch.randn(arguments.size, arguments.size, dtype=torch.float16) for _ in range(4)]
    config = CompilerConfig()
    config.anabranch.fuse, config.anabranch.tune = False, "off"
    options = dict(backend=anabranch.backend(config), dynamic=False, fullgraph=True)
    streams = torch.compile(Example(True), **options)
    single = torch.compile(Example(False), **options)
    with torch.no_grad():
        expected = Example(False)(*inputs)
        for compiled in (streams, single):  # compile and warm up, and check the numbers
            for got, want in zip(compiled(*inputs), expected):
                assert torch.equal(got, want), "results differ from eager"
        pairs = []
        for index in range(arguments.pairs):  # alternate who goes first
            order = (streams, single) if index % 2 else (single, streams)
            times = {call: seconds(call, inputs) for call in order}
            pairs.append((times[streams], times[single]))
    ratios = sorted(a / b for a, b in pairs)
    print(json.dumps({
        "workload": f"two_streams fp16 {arguments.size}",
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "machine": platform.processor() or platform.machine(),
        "pairs": len(pairs),
        "streams_ms_median": round(1e3 * statistics.median(a for a, _ in pairs), 2),
        "single_ms_median": round(1e3 * statistics.median(b for _, b in pairs), 2),
        "ratio_median": round(statistics.median(ratios), 3),
        "ratio_min": round(ratios[0], 3),
        "ratio_max": round(ratios[-1], 3),
    }, indent=2))


if __name__ == "__main__":
    main()
