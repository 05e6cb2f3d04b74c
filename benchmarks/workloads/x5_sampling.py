"""X5: top-p sampling of two rows over a vocabulary of 32,000 (sort, sums) beside four products."""

import torch
from torch import nn

from anabranch import stream
from workloads import Row


class Sampling(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.products = nn.Sequential(*(nn.Linear(width, width) for _ in range(4)))

    def forward(self, logits, x):
        with stream("sampling"):
            chances, words = torch.sort(logits.softmax(-1), descending=True)
            kept = chances * (chances.cumsum(-1) < 0.9)
            mass, best = kept.sum(-1), words[:, 0]
        return mass, best, self.products(x)


def rows(quick):
    width, vocabulary = (64, 100) if quick else (2048, 32_000)
    yield Row("X5 top-p ∥ products", lambda: Sampling(width),
              [torch.randn(2, vocabulary), torch.randn(8, width)])
