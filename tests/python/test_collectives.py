"""Collectives in graphs: one order, the second half writes the result. One rank or two, gloo."""

import json
import os
import subprocess
import sys

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as collectives
from support import compile_graph

from anabranch import stream as S


def test_all_reduce_on_a_stream(group, programs, adversary):
    def f(x, y):
        with S("comm"):
            summed = collectives.all_reduce(x * 2, "sum", group)
        with S("more"):
            gathered = collectives.all_gather_single(y, 0, group)
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


def test_the_operand_is_in_use_until_the_wait(group, programs):
    def f(x):
        with S("comm"):
            gathered = collectives.wait_tensor(collectives.all_gather_single(x, 0, group))
        with S("writer"):
            x.add_(1)
        return gathered * 2

    x = torch.ones(4, 4)
    assert torch.equal(compile_graph(f)(x), torch.full((4, 4), 2.0)) and (x == 2).all()
    (made,) = programs
    assert " reads(" in made.one("_c10d_functional.wait_tensor.default").line
    schedule = made.program.compiled.text("schedule")
    assert schedule.count("record") == 2  # the wait before the write, and before the product


CASES = [
    "all_reduce_beside_compute",
    "in_place_forms",
    "functional_and_coalesced_forms",
    "every_functional_form",
    "every_form_that_dynamo_rewrites",
    "sizes_that_change",
    "gradients",
    "one_order_whatever_the_labels",
    "the_operand_may_change_after_the_wait",
    "a_group_of_its_own",
    "groups_in_opposite_orders",
    "what_dynamo_refuses_names_the_functional_form_and_the_line",
    "a_refused_collective_inside_a_scope_is_an_error_without_fullgraph",
    "an_operator_that_fails_beside_a_collective",
    "a_rank_that_does_not_take_part_is_an_error_on_the_other",
]


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory):
    """What went wrong on each rank, by case: two_ranks.py runs them all in two processes."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "two_ranks.py")
    store = tmp_path_factory.mktemp("group") / "store"
    ranks = [subprocess.Popen([sys.executable, script, str(store), str(rank)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=os.environ | {"OMP_NUM_THREADS": "1"})
             for rank in range(2)]
    found = []
    try:
        for process in ranks:
            out, err = process.communicate(timeout=400)
            assert process.returncode == 0, err[-4000:]
            found.append(json.loads(out.strip().split("\n")[-1]))
    finally:
        for process in ranks:
            process.kill()
    return found


@pytest.mark.parametrize("case", CASES)
def test_on_two_ranks(two_ranks, case):
    for rank, results in enumerate(two_ranks):
        assert results[case] == "", f"rank {rank}:\n{results[case]}"


def test_after_the_other_rank_has_died(two_ranks):
    assert two_ranks[0]["after_the_other_rank_has_died"] == ""


def test_the_first_call_of_a_graph_with_collectives_uses_its_streams(group, programs, recwarn):
    # AOTAutograd checks operators from outside torch at the first call; collectives are torch's own
    def f(x):
        with S("comm"):
            total = collectives.all_reduce(x, "sum", group)
        return total + 1

    assert torch.equal(compile_graph(f)(torch.ones(4)), torch.full((4,), 2.0))
    assert not [w for w in recwarn if "watched-call" in str(w.message)]


def test_the_tensor_parallel_example():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    environment = os.environ | {"PYTHONPATH": os.path.join(root, "python"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2",
         "--standalone", "-m", "anabranch", "run",
         os.path.join(root, "examples", "tensor_parallel.py")],
        capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    assert done.stdout.count("bit for bit: True") == 2
