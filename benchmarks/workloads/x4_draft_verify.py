"""X4: speculative decoding: a small serial model drafts while a larger one verifies 8 rows."""

import torch
from torch import nn

from anabranch import stream
from workloads import Row


class DraftVerify(nn.Module):
    def __init__(self, width, steps):
        super().__init__()
        self.steps = steps
        self.large = nn.Sequential(*(
            layer for _ in range(4) for layer in (nn.Linear(width, width), nn.SiLU())))
        small = width // 4
        self.small = nn.Sequential(*(
            layer for _ in range(6)
            for layer in (nn.Linear(small, small), nn.LayerNorm(small), nn.SiLU())))

    def forward(self, rows, word):
        with stream("draft"):
            for _ in range(self.steps):
                word = self.small(word)
        return self.large(rows), word


def rows(quick):
    width, steps = (64, 2) if quick else (1024, 6)
    yield Row("X4 draft ∥ verify", lambda: DraftVerify(width, steps),
              [torch.randn(8, width), torch.randn(1, width // 4)])
