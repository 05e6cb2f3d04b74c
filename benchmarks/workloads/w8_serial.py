"""W8: eight layers one after the other for 8 rows: nothing can overlap. Every second layer has a
label, so this row shows what an annotation costs that cannot pay.
"""

import torch
from torch import nn

from anabranch import stream
from workloads import Row


class Serial(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(nn.Linear(width, width), nn.GELU()) for _ in range(depth))

    def forward(self, x):
        for index, layer in enumerate(self.layers):
            with stream("odd" if index % 2 else ""):
                x = layer(x)
        return x


def rows(quick):
    width, depth = (64, 3) if quick else (1024, 8)
    yield Row("W8 serial MLP", lambda: Serial(width, depth), [torch.randn(8, width)])
