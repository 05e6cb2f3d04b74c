"""torch.cond and while_loop: bodies run in order on the stream of the control operator."""

import pytest
import torch
from support import check_equal, compile_graph, equal
from torch._higher_order_ops.while_loop import while_loop

from anabranch import stream as S
from anabranch import wait as W

X = torch.arange(-6, 6, dtype=torch.float32).reshape(3, 4)
YES, NO = torch.tensor(True), torch.tensor(False)


def test_both_branches_on_a_stream(programs, adversary):
    def f(p, x, y):
        def product(x, y):
            with S("inner"):
                z = x @ y.t()
            return z + 1

        with S("branch"):
            chosen = torch.cond(p, product, lambda x, y: (x - y) @ y.t(), (x, y))
        other = x.exp()
        return chosen * 2, other

    compiled = check_equal(f, YES, X, X + 1, calls=2)
    assert equal(compiled(NO, X, X + 1), f(NO, X, X + 1))
    (made,) = programs
    report = made.program.compiled.report()
    assert 'runs its bodies in order on stream "branch"; labels inside: branch, inner' in report
    assert made.program.compiled.dump("original", "pbtxt").count('op: "cond"') == 1


def test_the_predicate_comes_from_another_stream(adversary):
    def f(x):
        with S("decide"):
            p = x.sum() > 0
        with S("act"):
            y = torch.cond(p, torch.sin, torch.cos, (x,))
        return y + 1

    check_equal(f, X)
    check_equal(f, X + 9)


def test_nested_conditions():
    def f(x, y):
        def outer(x, y):
            return torch.cond(x.sum() > y.sum(), lambda x: x.sin(), lambda x: x.cos(), (x,))

        return torch.cond(x.sum() > 0, outer, lambda x, y: x - y, (x, y))

    for x, y in ((X + 5, X), (X + 5, X + 9), (X, X)):
        check_equal(f, x, y)


def test_waits_inside_and_around_a_branch(programs, adversary):
    def f(p, x):
        with S("1"):
            a = x * 2
        with S("2"):
            W(x, a)

            def branch(x):
                with S("3"):
                    b = x + 1
                    W(x, b)
                return x * b

            y = torch.cond(p, branch, lambda x: x - 1, (x,))
        return y + a

    check_equal(f, YES, X, calls=2)
    check_equal(f, NO, X)


def test_constants_and_parameters_in_a_branch():
    linear = torch.nn.Linear(4, 4)

    @torch.no_grad()
    def f(p, x):
        def branch(x):
            return linear(x) + torch.tensor([1.0, 2.0, 3.0, 4.0])

        def inner(x):
            return torch.cond(p, branch, lambda x: x + torch.tensor(7.0), (x,))

        return torch.cond(x.sum() > 0, inner, lambda x: x * 3.0, (x,))

    for p, x in ((YES, X + 3), (NO, X + 3), (YES, X)):
        check_equal(f, p, x)


def test_branches_of_different_size():
    def f(p, x):
        return torch.cond(p, lambda x: x[:2].clone(), lambda x: x[:3] * 2, (x,))

    compiled = check_equal(f, YES, X)
    assert torch.equal(compiled(NO, X), f(NO, X))


@torch._dynamo.config.patch(capture_scalar_outputs=True)
def test_a_condition_on_a_number():
    def f(x):
        n = x.long().sum().item()
        return torch.cond(n > 4, lambda x: x + 1, lambda x: x - 1, (x,))

    check_equal(f, X)
    check_equal(f, X + 5)


def test_symbolic_sizes_reach_the_bodies(monkeypatch, programs):
    monkeypatch.setenv("ENABLE_DYNAMIC_SHAPE_MULTI_STREAM", "1")

    def f(p, x):
        with S("1"):
            return torch.cond(
                p, lambda x: x.reshape(-1) + x.shape[0], lambda x: (x * 2).reshape(-1), (x,))

    compiled = compile_graph(f, dynamic=True)
    for rows in (3, 5, 8):
        for p in (YES, NO):
            x = torch.randn(rows, 4)
            assert torch.equal(compiled(p, x), f(p, x))
    assert len(programs) == 1


def test_random_numbers_in_a_branch():
    # one generator: the draws before, inside and after the branch keep their order
    def f(p, x):
        with S("1"):
            before = torch.rand_like(x)
        with S("2"):
            inside = torch.cond(p, lambda x: x + torch.rand_like(x), lambda x: x * 1.5, (x,))
        with S("1"):
            after = torch.rand_like(x)
        return before, inside, after

    check_equal(f, YES, X, calls=2)
    check_equal(f, NO, X)


def test_a_loop_over_tensors(adversary):
    def f(x):
        with S("loop"):
            i, y = while_loop(
                lambda i, x: i < 5, lambda i, x: (i + 1, x * 2 - 1), (torch.tensor(0), x))
        return i, y + 1, x.exp()

    check_equal(f, X, calls=2)


def test_a_loop_that_never_runs_returns_copies():
    def f(x):
        i, y = while_loop(lambda i, x: i < 0, lambda i, x: (i + 1, x * 2), (torch.tensor(0), x))
        return i, y

    x = X.clone()
    compiled = compile_graph(f)
    i, y = compiled(x)
    assert i == 0 and torch.equal(y, x) and y.data_ptr() != x.data_ptr()


def test_a_loop_over_a_number():
    def f(x):
        return while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 2 + i), (0, x))

    check_equal(f, X)


def test_a_condition_inside_a_loop():
    def f(x):
        def step(i, x):
            return i + 1, torch.cond(i % 2 == 0, lambda x: x + 1, lambda x: x * 2, (x,))

        return while_loop(lambda i, x: i < 6, step, (torch.tensor(0), x))

    check_equal(f, X)


def test_an_error_inside_a_branch_names_its_operator():
    def f(p, index, x):
        def branch(index, x):
            return x.index_select(0, index)  # the failing line

        with S("branch"):
            return torch.cond(p, branch, lambda index, x: x[:2] + 1, (index, x))

    compiled = compile_graph(f)
    bad, good = torch.tensor([0, 99]), torch.tensor([0, 1])
    with pytest.raises(IndexError) as eager:
        f(YES, bad, X)
    for _ in range(2):
        with pytest.raises(IndexError) as mine:
            compiled(YES, bad, X)
        message = str(mine.value)
        assert str(eager.value).split("\n", 1)[0] in message
        assert "aten.index_select.default" in message and "in branch" in message
        assert 'cond (cond), stream "branch"' in message
        assert torch.equal(compiled(YES, good, X), f(YES, good, X))


def test_another_higher_order_operator_is_refused_by_name():
    from torch._higher_order_ops.scan import scan

    def f(x):
        return scan(lambda carry, x: (carry + x, carry * 2), torch.zeros(4), x, dim=0)

    with pytest.raises(Exception, match="higher-order operator scan(.|\n)*fix:"):
        compile_graph(f)(X)
