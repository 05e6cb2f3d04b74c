"""The arena of a call: shared by what is ordered, never seen by the caller."""

import re
import threading

import pytest
import torch

import anabranch
from program_text import program
from support import check_equal, compile_graph, equal

X = torch.randn(64, 64, generator=torch.Generator().manual_seed(0))


def memory(program):
    """{placed, arena, least, unshared, orders} from the report of a compiled graph."""
    line = re.search(r"memory: (\d+) buffers in (\d+) bytes a call \(at least (\d+); unshared (\d+); "
                     r"(\d+) orders", program.program.compiled.report())
    return dict(zip(("placed", "arena", "least", "unshared", "orders"), map(int, line.groups()),
                    strict=True))


def chain(x):
    for _ in range(6):
        x = torch.tanh(x @ x / 64 + 1)
    return x


def branches(x):
    results = []
    for tag in ("", "1", "2"):
        with anabranch.stream(tag):
            y = x
            for step in range(5):
                y = torch.sin(y @ x / 64 + step)
            results.append(y)
    return results[0] + results[1] * results[2]


def test_a_chain_needs_two_buffers(programs):
    check_equal(chain, X, calls=3)
    found = memory(programs[0])
    assert found["placed"] >= 12
    assert found["arena"] == found["least"] == 2 * 64 * 64 * 4


def test_streams_share_only_what_is_ordered(programs, adversary):
    check_equal(branches, X, calls=20)
    found = memory(programs[0])
    assert found["least"] <= found["arena"] < found["unshared"] and found["orders"] == 0


def test_small_memory_orders_the_streams(programs, adversary):
    config = anabranch.CompilerConfig()
    config.anabranch.memory = "small"
    check_equal(branches, X, calls=20, config=config)
    found = memory(programs[0])
    assert found["orders"] > 0
    check_equal(branches, X)
    assert found["arena"] <= memory(programs[1])["arena"]


def test_results_are_fresh_in_every_call():
    function = compile_graph(chain)
    first = function(X)
    kept = first.clone()
    second = function(X + 1)
    assert first.data_ptr() != second.data_ptr()
    assert torch.equal(first, kept)


def test_in_place_and_views_on_placed_memory():
    def function(x):
        y = x @ x
        row = y[3]
        y.add_(1)
        row.mul_(2)
        z = torch.relu(y).t()
        z[1:, ::2] += row[:32]
        return z.sum(0), z @ y

    check_equal(function, X, calls=3)


def test_a_result_that_shows_placed_memory_is_the_callers():
    def function(x):
        y = torch.sin(x) + 1
        return (y * 2)[:, 1], y.t()

    check_equal(function, X, calls=3)


def test_several_results_of_one_operator():
    def function(x):
        values, places = torch.topk(torch.sin(x), 5)
        return values * 2, places

    check_equal(function, X, calls=3)


def test_callers_have_their_own_arena():
    function = compile_graph(branches)
    inputs = [X + k for k in range(4)]
    expected = [branches(x) for x in inputs]
    failures = []

    def call(k):
        for _ in range(25):
            if not equal(function(inputs[k]), expected[k]):
                failures.append(k)

    function(X)
    threads = [threading.Thread(target=call, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_failed_call_leaves_the_arena_usable():
    def function(x, index):
        y = torch.sin(x) * 2
        z = torch.index_select(y, 0, index)
        return (z + 1) @ x

    compiled = compile_graph(function)
    good, bad = torch.tensor([1, 2]), torch.tensor([1, 99])
    expected = function(X, good)
    assert torch.equal(compiled(X, good), expected)
    with pytest.raises(IndexError, match="index"):
        compiled(X, bad)
    assert torch.equal(compiled(X, good), expected)


def test_custom_operators_may_keep_their_operands():
    kept = []

    @torch.library.custom_op("memory_test::keep", mutates_args=())
    def keep(x: torch.Tensor) -> torch.Tensor:
        kept.append(x)
        return x.clone()

    @keep.register_fake
    def _(x):
        return torch.empty_like(x)

    def function(x):
        y = torch.sin(x)
        return keep(y) + torch.cos(torch.cos(x)) @ x

    compiled = compile_graph(function)
    compiled(X)
    assert torch.equal(kept[-1], torch.sin(X))


def test_inference_and_grad_modes_take_turns():
    compiled = compile_graph(chain)
    expected = chain(X)
    for mode in (torch.inference_mode, torch.no_grad, torch.inference_mode):
        with mode():
            assert torch.equal(compiled(X), expected)


def test_views_of_inputs_follow_the_tensors_of_each_call():
    """Tensors on inputs are made once for a context: their memory is that of each call's inputs."""
    def function(x, y):
        x[1].add_(y.t()[0])
        return x.t() @ y[:, ::2], x.view(torch.int32)[0]

    base = torch.randn(3, 8, 8)
    compiled = compile_graph(function)
    for k in range(3):
        eager_x, x = base[k].clone(), base[k]
        y = base[(k + 1) % 3]
        assert equal(compiled(x, y), function(eager_x, y))
        assert torch.equal(x, eager_x)


ALIAS = """
  %x = input : f32[64,64] @b0
  %s = aten.sin.default(%x) : f32[64,64] @b1
  %a = aten.contiguous.default(%s) : f32[64,64] @b2
  %b = aten.contiguous.default(%x) : f32[64,64] @b3
  return %a, %b
"""


def test_a_result_that_is_an_operand_outlives_the_call():
    """Where an operator returns its operand against what was captured, the caller gets a copy."""
    compiled = program(ALIAS)
    x = X.clone()
    results, _ = compiled.run([x], [])
    x.fill_(7)
    compiled.run([X + 1], [])
    assert torch.equal(results[0], torch.sin(X)) and torch.equal(results[1], X)


def test_a_profiler_sees_every_operator():
    compiled = compile_graph(chain)
    compiled(X)
    with torch.profiler.profile() as profile:
        compiled(X)
    assert sum(event.name == "aten::tanh" for event in profile.events()) == 6
