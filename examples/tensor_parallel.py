"""A tensor-parallel MLP: the all-reduce of one half runs beside the product of the other.

    default  up ─ relu ─ down ───────────────── + ─ out
                            ╲                  ╱
    "comm"                   all_reduce ─ wait
    "gate"   gate ─────────────────────────────

Each rank holds a slice of the two weights: columns of the first, rows of the second, so that one
all-reduce of the result makes the layer whole. The gate is computed whole on every rank.

    torchrun --nproc-per-node 2 -m anabranch run examples/tensor_parallel.py
"""

import datetime
import os

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as collectives

import anabranch

TOKENS, WIDTH, HIDDEN = 64, 128, 512


class ParallelLayer(torch.nn.Module):
    """relu(x @ up) @ down over the ranks of the group, times a gate of its own."""

    def __init__(self, up, down, gate, rank, ranks):
        super().__init__()
        self.up = torch.nn.Parameter(up.chunk(ranks, 1)[rank].contiguous())
        self.down = torch.nn.Parameter(down.chunk(ranks, 0)[rank].contiguous())
        self.gate = torch.nn.Parameter(gate)

    def forward(self, x):
        partial = torch.relu(x @ self.up) @ self.down
        with anabranch.stream("comm"):
            total = collectives.all_reduce(partial, "sum", dist.group.WORLD)
        with anabranch.stream("gate"):
            gate = torch.sigmoid(x @ self.gate)
        return total * gate


def main():
    if "RANK" not in os.environ:
        raise SystemExit("start it with: torchrun --nproc-per-node 2 -m anabranch run "
                         "examples/tensor_parallel.py")
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
    rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    x = torch.randn(TOKENS, WIDTH)
    up, down = torch.randn(WIDTH, HIDDEN) / 16, torch.randn(HIDDEN, WIDTH) / 16
    gate = torch.randn(WIDTH, WIDTH) / 16
    layer = ParallelLayer(up, down, gate, rank, ranks)
    with torch.no_grad():
        compiled = torch.compile(layer, backend=anabranch.backend(), fullgraph=True, dynamic=False)
        expected = (torch.relu(x @ up) @ down) * torch.sigmoid(x @ gate)
        for _ in range(3):
            result = compiled(x)
    error = (result - expected).abs().max().item()
    equal = torch.equal(result, layer(x))
    print(f"rank {rank} of {ranks}: equal to eager execution, bit for bit: {equal}; "
          f"largest difference from one process: {error:.1e}", flush=True)
    dist.destroy_process_group()
    return 0 if equal and error < 1e-3 else 1


if __name__ == "__main__":
    raise SystemExit(main())
