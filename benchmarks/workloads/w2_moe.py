"""W2: a decode step of a mixture-of-experts block, in the sizes of DeepSeek-V2-Lite.

Hidden size 2048, 64 routed experts of 1408 of which each token takes 6, a shared expert of twice
the size. The routing is fixed when the model is made, so that every compiler sees the same graph: a
Python loop over chosen experts makes each of them compile once for each routing. Experts that no
token takes are left out, as they take no time.
"""

import random

import torch
import torch.nn.functional as F
from torch import nn

from anabranch import stream
from workloads import Row


class Expert(nn.Module):
    def __init__(self, hidden, inner):
        super().__init__()
        self.up = nn.Linear(hidden, 2 * inner, bias=False)
        self.down = nn.Linear(inner, hidden, bias=False)

    def forward(self, x):
        gate, value = self.up(x).chunk(2, -1)
        return self.down(F.silu(gate) * value)


class MoE(nn.Module):
    """`routing[token]` lists the experts of a token in the order of their weights."""

    def __init__(self, routing, hidden=2048, inner=1408, experts=64):
        super().__init__()
        self.norm = nn.RMSNorm(hidden)
        self.router = nn.Linear(hidden, experts, bias=False)
        self.shared = Expert(hidden, 2 * inner)
        self.taken = sorted({expert for chosen in routing for expert in chosen})
        self.experts = nn.ModuleDict({str(e): Expert(hidden, inner) for e in self.taken})
        for expert in self.taken:
            pairs = [(token, chosen.index(expert)) for token, chosen in enumerate(routing)
                     if expert in chosen]
            self.register_buffer(f"tokens_{expert}", torch.tensor([token for token, _ in pairs]))
            self.register_buffer(f"places_{expert}", torch.tensor([place for _, place in pairs]))
        self.count = len(routing[0])

    def add_experts(self, x, weights, some):
        out = torch.zeros_like(x)
        for expert in some:
            tokens, places = getattr(self, f"tokens_{expert}"), getattr(self, f"places_{expert}")
            result = self.experts[str(expert)](x[tokens]) * weights[tokens, places].unsqueeze(1)
            # One token has nothing to scatter (and ONNX's exporter loses sums over one row).
            out = out + result if len(x) == 1 else out.index_add(0, tokens, result)
        return out

    def forward(self, x):
        y = self.norm(x)
        weights, _ = self.router(y).softmax(-1).topk(self.count)
        half = (len(self.taken) + 2) // 2  # the shared expert is as large as two
        with stream("experts"):
            first = self.add_experts(y, weights, self.taken[:half])
        second = self.add_experts(y, weights, self.taken[half:]) + self.shared(y)
        return x + first + second


def rows(quick):
    for tokens in (1, 8):
        choose = random.Random(tokens)
        if quick:
            routing, sizes = [choose.sample(range(8), 2) for _ in range(tokens)], (64, 32, 8)
        else:
            routing, sizes = [choose.sample(range(64), 6) for _ in range(tokens)], (2048, 1408, 64)
        yield Row(f"W2 MoE T={tokens}", lambda routing=routing, sizes=sizes: MoE(routing, *sizes),
                  [torch.randn(tokens, sizes[0])])
