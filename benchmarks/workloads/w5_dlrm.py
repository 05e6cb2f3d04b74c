"""W5: a recommender in the shape of DLRM on Criteo: 13 numbers through 512-256-64, 26 tables of
100,000 rows of 64 of which 20 are summed, dot products of all pairs, 512-256-1 on top. Half of the
tables run beside the other half and the numbers.
"""

import torch
import torch.nn.functional as F
from torch import nn

from anabranch import stream
from workloads import Row

TABLES = 26


def layers(*sizes):
    parts = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        parts += [nn.Linear(inputs, outputs), nn.ReLU()]
    return parts


class Recommender(nn.Module):
    """Takes numbers f32[B, 13] and rows i64[TABLES, B, L]."""

    def __init__(self, rows, width=64):
        super().__init__()
        features = TABLES + 1
        self.bottom = nn.Sequential(*layers(13, 512, 256, width))
        self.tables = nn.ModuleList(
            nn.EmbeddingBag(rows, width, mode="sum") for _ in range(TABLES))
        self.top = nn.Sequential(*layers(width + features * (features - 1) // 2, 512, 256, 1)[:-1],
                                 nn.Sigmoid())
        self.register_buffer("pairs", torch.tril_indices(features, features, -1))

    def bag(self, table, rows):
        return table(rows)

    def forward(self, numbers, rows):
        half = TABLES // 2
        with stream("tables"):
            first = [self.bag(self.tables[i], rows[i]) for i in range(half)]
        x = self.bottom(numbers)
        second = [self.bag(self.tables[i], rows[i]) for i in range(half, TABLES)]
        features = torch.stack([x, *first, *second], 1)
        dots = torch.bmm(features, features.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat((x, dots), 1))


class Gathering(Recommender):
    """Tables as gather and sum: ONNX knows no embedding bag."""

    def bag(self, table, rows):
        return F.embedding(rows, table.weight).sum(1)


def rows(quick):
    height, length = (50, 3) if quick else (100_000, 20)
    for batch in (1, 64):
        yield Row(f"W5 DLRM B={batch}", lambda height=height: Recommender(height),
                  [torch.randn(batch, 13), torch.randint(0, height, (TABLES, batch, length))],
                  {"gather": lambda height=height: Gathering(height)})
