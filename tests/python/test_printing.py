"""npu_print prints when the graph runs, not when it is traced, and in program order."""

import pytest
import torch
from support import compile_graph

from anabranch import stream as S
from anabranch.torchair.ops import npu_print

X = torch.arange(8.0)


def test_prints_in_program_order_on_any_stream(capsys, programs, adversary):
    def f(x):
        with S("a"):
            npu_print("first", x * 2, 7, summarize_size=1)
        with S("b"):
            y = x + 1
            npu_print("second")
        npu_print("third", y[:2], summarize_size=-1)
        return y

    compiled = compile_graph(f)
    for _ in range(3):
        compiled(X)
        assert capsys.readouterr().out == (
            "first tensor([ 0.,  ..., 14.]) 7\nsecond\nthird tensor([1., 2.])\n")
    prints = [s for s in programs[0].captured() if s.op == "ab.print.default"]
    assert [s.label for s in prints] == ["a", "b", None]
    assert all('effects(io "stdout")' in s.line for s in prints)


def test_a_print_comes_between_writes_of_its_tensor(capsys):
    def f(x):
        x.add_(1)
        with S("a"):
            npu_print(x, summarize_size=-1)
        x.add_(1)
        return x

    assert torch.equal(compile_graph(f)(torch.zeros(2)), torch.full((2,), 2.0))
    assert capsys.readouterr().out == "tensor([1., 1.])\n"


def test_prints_once_in_training(capsys):
    def f(x):
        y = x * 3
        npu_print("y", y, tensor_detail=True)
        return (y * y).sum()

    x = torch.ones(2, requires_grad=True)
    compile_graph(f)(x).backward()
    assert capsys.readouterr().out == (
        "y Tensor(shape=(2,), dtype=torch.float32, stride=(1,)):\ntensor([3., 3.])\n")
    assert torch.equal(x.grad, torch.full((2,), 18.0))


def test_prints_in_eager_mode(capsys):
    npu_print("x", torch.ones(1))
    assert capsys.readouterr().out == "x tensor([1.])\n"


@pytest.mark.parametrize("keywords", [{"summarize_size": "3"}, {"tensor_detail": 1}])
def test_wrong_arguments(keywords):
    (name,) = keywords
    with pytest.raises(TypeError, match=name):
        compile_graph(lambda x: (npu_print(x, **keywords), x + 1)[1])(X)
