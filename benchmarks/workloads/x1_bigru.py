"""X1: a bidirectional recurrent network, its steps written out: two chains of small operators."""

import torch
from torch import nn

from anabranch import stream
from workloads import Row


class BiGRU(nn.Module):
    """Takes f32[T, width], one sequence; returns both last states, f32[1, 2 width]."""

    def __init__(self, width):
        super().__init__()
        self.width = width
        self.forwards, self.backwards = nn.GRUCell(width, width), nn.GRUCell(width, width)

    def forward(self, x):
        start = torch.zeros(1, self.width)
        with stream("backwards"):
            last = start
            for step in range(len(x) - 1, -1, -1):
                last = self.backwards(x[step:step + 1], last)
        first = start
        for step in range(len(x)):
            first = self.forwards(x[step:step + 1], first)
        return torch.cat((first, last), 1)


def rows(quick):
    width, length = (16, 3) if quick else (256, 32)
    yield Row("X1 BiGRU", lambda: BiGRU(width), [torch.randn(length, width)])
