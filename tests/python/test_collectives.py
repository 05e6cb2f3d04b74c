"""Collectives in graphs: one order, and the second half writes the result. One rank, gloo."""

import pytest
import torch
import torch.distributed as dist
from support import compile_graph

from anabranch import stream as S


@pytest.fixture
def group(tmp_path):
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    yield dist.group.WORLD
    dist.destroy_process_group()


def test_all_reduce_on_a_stream(group, programs, adversary):
    import torch.distributed._functional_collectives as collectives

    def f(x, y):
        with S("comm"):
            summed = collectives.all_reduce(x * 2, "sum", group)
        with S("more"):
            gathered = collectives.all_gather_tensor(y, 0, group)
        return summed + 1, gathered * 3, y @ y

    x, y = torch.ones(8, 8), torch.full((4, 4), 2.0)
    compiled = compile_graph(f)
    for _ in range(3):
        for mine, eager in zip(compiled(x, y), f(x, y), strict=True):
            assert torch.equal(mine, eager)
    lines = {s.op: s.line for s in programs[0].captured()}
    launches = [line for op, line in lines.items()
                if op.startswith("_c10d_functional") and "wait_tensor" not in op]
    assert len(launches) == 2 and all("effects(collective " in line for line in launches)
    wait = lines["_c10d_functional.wait_tensor.default"]
    assert "writes(" in wait and "view" not in wait.split("(")[0]


def test_in_place_all_reduce(group, programs):
    def f(x):
        with S("comm"):
            dist.all_reduce(x)
        return x + 1

    x = torch.ones(4)
    assert torch.equal(compile_graph(f)(x), torch.full((4,), 2.0))
    assert "collective" in programs[-1].text
