"""W1: two products and two sums on three streams, the example of the README."""

import torch

from anabranch import stream, wait
from workloads import Row


class TwoProducts(torch.nn.Module):
    """The products have different right sides, so that no compiler makes one of them."""

    def forward(self, a, b, c, d):
        total = a + b
        with stream("1"):
            wait(c, total)
            first = c @ total
        second = c @ d
        with stream("2"):
            wait(d, first)
            last = c + d
        return first, second, last


def rows(quick):
    sizes = [(32, torch.float32), (32, torch.float16)] if quick else [
        (1000, torch.float32), (256, torch.float32), (256, torch.float16), (1000, torch.float16)]
    for size, dtype in sizes:
        yield Row(f"W1 {'fp32' if dtype == torch.float32 else 'fp16'} {size}²", TwoProducts,
                  [torch.randn(size, size).to(dtype) for _ in range(4)])
