"""W3: the prologue of multi-head latent attention, two layers in the sizes of DeepSeek-V2.

Hidden size 2048, query rank 1536, 16 heads of 128 + 64, key rank 512. The path of the keys runs
beside the path of the queries. Attention itself is one cheap product, so that the projections stay
what is measured.
"""

import torch
from torch import nn

from anabranch import stream
from workloads import Row

HEADS, PLAIN, ROTARY = 16, 128, 64


def rotate(x, cosine, sine):
    a, b = x.chunk(2, -1)
    return torch.cat((a * cosine - b * sine, a * sine + b * cosine), -1)


class Layer(nn.Module):
    def __init__(self, hidden, query, key):
        super().__init__()
        self.key = key
        self.norm, self.query_norm, self.key_norm = map(nn.RMSNorm, (hidden, query, key))
        self.query_down = nn.Linear(hidden, query, bias=False)
        self.query_up = nn.Linear(query, HEADS * (PLAIN + ROTARY), bias=False)
        self.key_down = nn.Linear(hidden, key + ROTARY, bias=False)
        self.absorbed = nn.Parameter(torch.randn(HEADS, PLAIN, key) * 0.05)
        self.out = nn.Linear(key + ROTARY, hidden, bias=False)

    def forward(self, x, cosine, sine):
        y = self.norm(x)
        with stream("keys"):
            latent, turned = self.key_down(y).split([self.key, ROTARY], -1)
            keys = torch.cat((self.key_norm(latent), rotate(turned, cosine, sine)), -1)
        queries = self.query_up(self.query_norm(self.query_down(y)))
        plain, turned = queries.view(-1, HEADS, PLAIN + ROTARY).split([PLAIN, ROTARY], -1)
        plain = torch.bmm(plain.transpose(0, 1), self.absorbed).transpose(0, 1)
        queries = torch.cat((plain, rotate(turned, cosine[:, None], sine[:, None])), -1)
        return x + self.out((queries * keys[:, None]).sum(1))


class Prologue(nn.Module):
    def __init__(self, hidden=2048, query=1536, key=512, layers=2):
        super().__init__()
        self.layers = nn.ModuleList(Layer(hidden, query, key) for _ in range(layers))

    def forward(self, x, cosine, sine):
        for layer in self.layers:
            x = layer(x, cosine, sine)
        return x


def rows(quick):
    sizes = (64, 48, 32) if quick else (2048, 1536, 512)
    for tokens in (1, 8):
        yield Row(f"W3 MLA T={tokens}", lambda sizes=sizes: Prologue(*sizes),
                  [torch.randn(tokens, width) for width in (sizes[0], ROTARY // 2, ROTARY // 2)])
