"""W4: the mixed blocks of Inception v3 for one image, batch norms folded: one block of each kind,
and all of them. The branch with the most work has a stream of its own.
"""

import torch
import torch.nn.functional as F
from torch import nn

from anabranch import stream
from workloads import Row


class Conv(nn.Module):
    def __init__(self, inputs, outputs, kernel, stride=1, padding=0):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, padding)

    def forward(self, x):
        return F.relu(self.conv(x))


def wide(inputs, outputs, size):
    return Conv(inputs, outputs, (1, size), 1, (0, size // 2))


def tall(inputs, outputs, size):
    return Conv(inputs, outputs, (size, 1), 1, (size // 2, 0))


def average(x):
    return F.avg_pool2d(x, 3, 1, 1)


class Mixed35(nn.Module):
    """5b, 5c and 5d, on 35 × 35."""

    def __init__(self, inputs, pooled):
        super().__init__()
        self.one = Conv(inputs, 64, 1)
        self.five = nn.Sequential(Conv(inputs, 48, 1), Conv(48, 64, 5, 1, 2))
        self.deep = nn.Sequential(Conv(inputs, 64, 1), Conv(64, 96, 3, 1, 1),
                                    Conv(96, 96, 3, 1, 1))
        self.pool = Conv(inputs, pooled, 1)

    def forward(self, x):
        with stream("deep"):
            deep = self.deep(x)
        return torch.cat((self.one(x), self.five(x), deep, self.pool(average(x))), 1)


class Smaller17(nn.Module):
    """6a: from 35 × 35 to 17 × 17."""

    def __init__(self):
        super().__init__()
        self.three = Conv(288, 384, 3, 2)
        self.deep = nn.Sequential(Conv(288, 64, 1), Conv(64, 96, 3, 1, 1), Conv(96, 96, 3, 2))

    def forward(self, x):
        with stream("deep"):
            deep = self.deep(x)
        return torch.cat((self.three(x), deep, F.max_pool2d(x, 3, 2)), 1)


class Mixed17(nn.Module):
    """6b to 6e, on 17 × 17."""

    def __init__(self, inner, inputs=768):
        super().__init__()
        self.one, self.pool = Conv(inputs, 192, 1), Conv(inputs, 192, 1)
        self.seven = nn.Sequential(Conv(inputs, inner, 1), wide(inner, inner, 7),
                                   tall(inner, 192, 7))
        self.deep = nn.Sequential(Conv(inputs, inner, 1), tall(inner, inner, 7),
                                    wide(inner, inner, 7), tall(inner, inner, 7),
                                    wide(inner, 192, 7))

    def forward(self, x):
        with stream("deep"):
            deep = self.deep(x)
        return torch.cat((self.one(x), self.seven(x), deep, self.pool(average(x))), 1)


class Smaller8(nn.Module):
    """7a: from 17 × 17 to 8 × 8."""

    def __init__(self):
        super().__init__()
        self.three = nn.Sequential(Conv(768, 192, 1), Conv(192, 320, 3, 2))
        self.seven = nn.Sequential(Conv(768, 192, 1), wide(192, 192, 7), tall(192, 192, 7),
                                   Conv(192, 192, 3, 2))

    def forward(self, x):
        with stream("seven"):
            seven = self.seven(x)
        return torch.cat((self.three(x), seven, F.max_pool2d(x, 3, 2)), 1)


class Mixed8(nn.Module):
    """7b and 7c, on 8 × 8."""

    def __init__(self, inputs):
        super().__init__()
        self.one, self.pool = Conv(inputs, 320, 1), Conv(inputs, 192, 1)
        self.three = Conv(inputs, 384, 1)
        self.three_wide, self.three_tall = wide(384, 384, 3), tall(384, 384, 3)
        self.deep = nn.Sequential(Conv(inputs, 448, 1), Conv(448, 384, 3, 1, 1))
        self.deep_wide, self.deep_tall = wide(384, 384, 3), tall(384, 384, 3)

    def forward(self, x):
        with stream("deep"):
            deep = self.deep(x)
            deep = torch.cat((self.deep_wide(deep), self.deep_tall(deep)), 1)
        three = self.three(x)
        return torch.cat((self.one(x), self.three_wide(three), self.three_tall(three), deep,
                          self.pool(average(x))), 1)


def body():
    return nn.Sequential(
        Mixed35(192, 32), Mixed35(256, 64), Mixed35(288, 64), Smaller17(), Mixed17(128),
        Mixed17(160), Mixed17(160), Mixed17(192), Smaller8(), Mixed8(1280), Mixed8(2048))


def rows(quick):
    if quick:
        yield Row("W4 mixed 5b", lambda: Mixed35(16, 8), [torch.randn(1, 16, 5, 5)])
        return
    yield Row("W4 mixed 5b", lambda: Mixed35(192, 32), [torch.randn(1, 192, 35, 35)])
    yield Row("W4 mixed 6c", lambda: Mixed17(160), [torch.randn(1, 768, 17, 17)])
    yield Row("W4 mixed 7c", lambda: Mixed8(2048), [torch.randn(1, 2048, 8, 8)])
    yield Row("W4 body 5b to 7c", body, [torch.randn(1, 192, 35, 35)])
