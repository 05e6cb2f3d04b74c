"""topology_sorting_strategy: visible in the schedule, without effect on results."""

import re

import pytest
import torch
from support import check_equal, compile_graph

import anabranch
from anabranch import CompilerConfig

NAME = "experimental_config.topology_sorting_strategy"
X = torch.arange(8.0)


def two_branches(x):
    """a → a1 → a2 and b → b1 → b2, written alternately, and joined."""
    a = x + 1
    b = x * 2
    a1 = a.exp()
    b1 = b.neg()
    a2 = a1.abs()
    b2 = b1.tanh()
    return torch.maximum(b2, a2)


PROGRAM = ["add", "mul", "exp", "neg", "abs", "tanh", "maximum"]
ORDERS = {
    "BFS": PROGRAM,
    "DFS": ["add", "exp", "abs", "mul", "neg", "tanh", "maximum"],
    "RDFS": ["mul", "neg", "tanh", "add", "exp", "abs", "maximum"],
    "StableRDFS": PROGRAM,
}


def launched(text):
    """The operators that a schedule text launches, in order, without numbers in their names."""
    return re.findall(r"launch \^([a-z]+)", text)


def launches(program, which="schedule"):
    return launched(program.compiled.text(which))


def configured(strategy):
    config = CompilerConfig()
    config.experimental_config.topology_sorting_strategy = strategy
    return config


@pytest.mark.parametrize("strategy", ORDERS)
def test_the_order_is_the_one_asked_for(programs, strategy):
    check_equal(two_branches, X, config=configured(strategy))
    assert launches(programs[-1].program) == ORDERS[strategy]
    assert launches(programs[-1].program, "serial") == ORDERS[strategy]


def test_unset_is_program_order_and_setting_the_default_counts(programs):
    assert CompilerConfig().experimental_config.topology_sorting_strategy == "DFS"
    check_equal(two_branches, X, config=CompilerConfig())
    assert launches(programs[-1].program) == PROGRAM
    check_equal(two_branches, X, config=configured("DFS"))
    assert launches(programs[-1].program) == ORDERS["DFS"]


def test_it_can_be_given_to_torch_compile(programs):
    torch._dynamo.reset()
    compiled = torch.compile(two_branches, backend="anabranch", options={NAME: "RDFS"})
    assert torch.equal(compiled(X), two_branches(X))
    assert launches(programs[-1].program) == ORDERS["RDFS"]


@pytest.mark.parametrize("strategy", ORDERS)
def test_the_order_holds_inside_each_stream(programs, strategy):
    def f(x):
        with anabranch.stream("side"):
            a = x + 1
            b = x * 2
            a1 = a.exp()
            b1 = b.neg()
            return torch.maximum(b1.abs(), a1.cos())

    check_equal(f, X, config=configured(strategy))
    side = programs[-1].program.compiled.text("schedule").split('stream 1 "side"')[1]
    order = launched(side)
    expected = {"BFS": ["add", "mul", "exp", "neg", "cos", "abs"],
                "DFS": ["add", "exp", "cos", "mul", "neg", "abs"],
                "RDFS": ["mul", "neg", "abs", "add", "exp", "cos"],
                "StableRDFS": ["add", "mul", "exp", "neg", "abs", "cos"]}[strategy]
    assert order == expected + ["maximum"]


@pytest.mark.parametrize("strategy", ORDERS)
def test_writes_draws_and_waits_keep_their_order(strategy):
    cache = torch.zeros(4, 8)

    def f(x, cache):
        first = torch.rand(8)
        with anabranch.stream("side"):
            before = cache.clone()
            cache[1] = x
        y = anabranch.wait(x, before) + 1
        row = cache[1] * 2
        cache.add_(1)
        second = torch.nn.functional.dropout(y, 0.5, training=True)
        return first, before, row, second, cache.sum(0)

    check_equal(f, X, cache, calls=3, config=configured(strategy))


def test_the_optimized_dump_has_the_order(tmp_path, programs):
    config = configured("DFS")
    config.debug.graph_dump.type = "pbtxt"
    config.debug.graph_dump.path = str(tmp_path)
    compile_graph(two_branches, config)(X)
    types = {}
    for path in tmp_path.iterdir():
        which = path.name.split("_")[1]
        types[which] = re.findall(r'^ *op: "(\w+)"', path.read_text(), re.MULTILINE)
    assert types["original"].index("Mul") < types["original"].index("Exp")
    assert types["optimized"].index("Exp") < types["optimized"].index("Mul")
