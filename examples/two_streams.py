"""The example of the README: one model on three streams, written as a TorchAir user writes it.

    default   total ──────────── left
                 ╲ wait
    "1"           right ╌╌╌╌╌╌╌╌╌╌
                          ╲ wait
    "2"                    shifted

Runs as `anabranch run examples/two_streams.py`, or with plain Python when anabranch is installed.
Writes the two graph dumps, the timeline and the trace into ./two_streams_out.
"""

import glob
import os

import torch

import anabranch
from anabranch import torchair

OUT = os.path.abspath("two_streams_out")
SIZE = 704


class ThreeStreams(torch.nn.Module):
    """Two products that need nothing from each other, and two sums that the user orders."""

    def forward(self, bias, noise, weight, tokens):
        total = bias + noise
        with torchair.scope.npu_stream_switch("1"):
            # The product on stream "1" starts after the sum on the default stream.
            torchair.scope.npu_wait_tensor(tokens, total)
            right = weight @ tokens
        left = weight @ tokens
        with torchair.scope.npu_stream_switch("2"):
            # The sum on stream "2" starts after the product on stream "1".
            torchair.scope.npu_wait_tensor(tokens, right)
            shifted = weight + tokens
        return total, right, left, shifted


def main():
    os.makedirs(OUT, exist_ok=True)
    config = torchair.CompilerConfig()
    config.debug.graph_dump.type = "pbtxt"
    config.debug.graph_dump.path = OUT
    model = ThreeStreams()
    compiled = torch.compile(
        model, backend=torchair.get_npu_backend(compiler_config=config), dynamic=False,
        fullgraph=True)

    torch.manual_seed(0)
    inputs = [torch.randn(SIZE, SIZE, dtype=torch.float16) for _ in range(4)]
    compiled(*inputs)  # compiles, verifies and warms up
    with anabranch.trace(f"{OUT}/trace.json", f"{OUT}/timeline.html"):
        results = compiled(*inputs)

    expected = model(*inputs)
    equal = all(torch.equal(mine, eager) for mine, eager in zip(results, expected, strict=True))
    print("equal to eager execution, bit for bit:", equal)
    for dump in sorted(glob.glob(f"{OUT}/dynamo_*.pbtxt"), key=os.path.getmtime)[-2:]:
        print("graph dump:", dump)
    print("timeline:  ", f"{OUT}/timeline.html")
    print("trace:     ", f"{OUT}/trace.json", "(open it in https://ui.perfetto.dev)")
    return 0 if equal else 1


if __name__ == "__main__":
    raise SystemExit(main())
