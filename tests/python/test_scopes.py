"""Scopes give attributes to the operators traced inside them, and to no others."""

import pytest
import torch
from support import check_equal, compile_graph

import anabranch
from anabranch import torchair
from anabranch.scopes import (
    data_dump,
    limit_core_num,
    npu_stream_switch,
    op_never_timeout,
    super_kernel,
)

X = torch.arange(4.0)


def attributes_of(programs, op="aten.add.Tensor"):
    return [s.line for s in programs[-1].captured() if s.op == op]


def test_stream_switch_gives_its_three_arguments(programs):
    def f(x):
        with npu_stream_switch("side", -3, False):
            y = x + 1
        return y * 2

    check_equal(f, X)
    inside, = attributes_of(programs)
    assert '"_user_stream_label": "side"' in inside
    assert '"_user_stream_priority": "-3"' in inside
    assert '"_enable_inner_parallel": false' in inside
    outside, = attributes_of(programs, "aten.mul.Tensor")
    assert "{" not in outside  # none of the keys


def test_defaults_of_stream_switch(programs):
    def f(x):
        with npu_stream_switch("a"):
            return x + 1

    check_equal(f, X)
    line, = attributes_of(programs)
    assert '"_user_stream_priority": "0"' in line and '"_enable_inner_parallel": true' in line


def test_nested_reentered_and_same_tag(programs):
    def f(x):
        with npu_stream_switch("a"):
            p = x + 1
            with npu_stream_switch("b"):
                q = p + 1
                with npu_stream_switch("a"):
                    r = q + 1
            s = r + 1
        t = s + 1
        scope = npu_stream_switch("c")
        with scope:
            with scope:
                u = t + 1
            v = u + 1
        return v + 1

    check_equal(f, X)
    assert [label for _, label in programs[-1].labels()] == \
        ["a", "b", "a", "a", None, "c", "c", None]


def test_the_empty_tag_is_the_default_stream_inside_a_scope(programs):
    def f(x):
        with npu_stream_switch("a"), npu_stream_switch(""):
            return x + 1

    check_equal(f, X)
    assert programs[-1].labels() == [("aten.add.Tensor", "")]


def test_called_functions_and_submodules_are_inside(programs):
    class Inner(torch.nn.Module):
        def forward(self, x):
            return x * 2

    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            with npu_stream_switch("m"):
                y = helper(self.inner(x))
            return self.inner(y)

    def helper(x):
        return x + 1

    model = Outer()
    assert torch.equal(compile_graph(model)(X), model(X))
    assert [label for _, label in programs[-1].labels()] == ["m", "m", None]


outside = npu_stream_switch("outside")


def test_scope_objects_made_outside(programs):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scope = npu_stream_switch("mine")

        def forward(self, x):
            with outside:
                x = x + 1
                with self.scope, outside:
                    x = x + 1
            with self.scope:
                return x + 1

    model = Model()
    assert torch.equal(compile_graph(model)(X), model(X))
    assert [label for _, label in programs[-1].labels()] == ["outside", "outside", "mine"]


def test_decorator(programs):
    @npu_stream_switch("deco")
    def f(x):
        """doc"""
        return x + 1

    def g(x):
        return f(x) * 2

    assert f.__doc__ == "doc"
    check_equal(g, X)
    assert [label for _, label in programs[-1].labels()] == ["deco", None]


def test_other_scopes(programs):
    def f(x):
        with super_kernel("sk", "stream-fusion=1"), limit_core_num(8, "16"):
            a = x + 1
            with super_kernel(None), op_never_timeout():
                b = a + 1
            with super_kernel(""), op_never_timeout(False), data_dump():
                return b + 1

    check_equal(f, X)
    first, second, third = attributes_of(programs)
    assert '"_super_kernel_scope": "sk"' in first
    assert '"_super_kernel_options": "stream-fusion=1"' in first
    assert '"_op_aicore_num": "8"' in first and '"_op_vectorcore_num": "16"' in first
    assert "_super_kernel" not in second and '"_op_exec_never_timeout": true' in second
    assert "_super_kernel" not in third and '"_op_exec_never_timeout": false' in third
    assert '"torchair_enable_data_dump": "True"' in third and "dump" not in second


def test_scopes_are_no_ops_in_eager_mode():
    with npu_stream_switch("a"), super_kernel("s"), limit_core_num(1, 1), data_dump():
        assert torch.equal(anabranch.wait(X, X + 1), X)
    assert anabranch.wait(X, X) is X


@pytest.mark.parametrize("fullgraph", [True, False])
@pytest.mark.parametrize("tag", [None, 3, b"a"])
def test_a_bad_tag_is_a_type_error_that_names_stream_tag(tag, fullgraph):
    def f(x):
        with npu_stream_switch(tag):
            return x + 1

    with pytest.raises(TypeError, match="stream_tag"):
        compile_graph(f, fullgraph=fullgraph)(X)
    with pytest.raises(TypeError, match="stream_tag"):
        f(X)


@pytest.mark.parametrize("make, match", [
    (lambda: npu_stream_switch("a", "1"), "stream_priority"),
    (lambda: npu_stream_switch("a", 0, 1), "enable_inner_parallel"),
    (lambda: op_never_timeout(1), "enable"),
    (lambda: limit_core_num("x", 1), "op_aicore_num"),
    (lambda: limit_core_num(1, None), "op_vectorcore_num"),
    (lambda: super_kernel(3), "scope"),
])
def test_other_bad_arguments(make, match):
    with pytest.raises(TypeError, match=match):
        make()


def test_an_exception_that_leaves_a_scope_leaks_nothing(programs):
    def f(x):
        with npu_stream_switch("a"):
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        compile_graph(f, fullgraph=False)(X)
    check_equal(lambda x: x + 1, X)
    assert programs[-1].labels() == [("aten.add.Tensor", None)]


def breaking(x):
    with npu_stream_switch("a"):
        y = x + 1
        torch._dynamo.graph_break()  # the line that the errors name
        z = y * 2
    return z - 3


BREAK_LINE = breaking.__code__.co_firstlineno + 3


@pytest.mark.parametrize("fullgraph", [True, False])
def test_a_graph_break_in_a_scope_names_its_line(programs, fullgraph):
    with pytest.raises(RuntimeError) as error:
        compile_graph(breaking, fullgraph=fullgraph)(X)
    text = str(error.value)
    assert f"test_scopes.py:{BREAK_LINE}" in text or f'test_scopes.py", line {BREAK_LINE}' in text
    if not fullgraph:
        assert isinstance(error.value, anabranch.ScopeBreakError) and '"a"' in text
    check_equal(lambda x: x + 1, X)
    assert programs[-1].labels() == [("aten.add.Tensor", None)]


def test_a_graph_break_between_scopes_is_fine(programs):
    def f(x):
        with npu_stream_switch("a"):
            y = x + 1
        torch._dynamo.graph_break()
        with npu_stream_switch("a"):
            return y + 1

    check_equal(f, X, fullgraph=False)
    assert [p.labels() for p in programs] == [[("aten.add.Tensor", "a")]] * 2


def test_public_names_are_the_same_objects():
    assert anabranch.stream is torchair.scope.npu_stream_switch
    assert anabranch.wait is torchair.scope.npu_wait_tensor


def test_data_dump_says_once_that_it_only_marks(programs, logged):
    def f(x):
        with data_dump():
            y = x + 1
        with data_dump():
            return y * 2

    check_equal(f, torch.ones(4))
    assert [op for op in programs[0].captured() if "torchair_enable_data_dump" in op.line]
    (record,) = logged
    assert "data_dump() only marks operators" in record.getMessage()


def test_a_scope_object_outlives_a_graph_break(programs):
    def f(x):
        scope = npu_stream_switch("kept")
        with scope:
            y = x + 1
        torch._dynamo.graph_break()
        with scope:
            return y + 1

    check_equal(f, X, fullgraph=False)
    assert [p.labels() for p in programs] == [[("aten.add.Tensor", "kept")]] * 2


def test_a_scope_class_of_the_users_own_is_traced_like_any_class(programs):
    class Mine(npu_stream_switch):
        def __init__(self, number):
            super().__init__(f"mine{number}", number)

    def f(x):
        with Mine(3):
            return x + 1

    check_equal(f, X)
    line, = attributes_of(programs)
    assert '"_user_stream_label": "mine3"' in line and '"_user_stream_priority": "3"' in line


def test_entering_a_scope_traces_none_of_its_methods(monkeypatch):
    """What makes hundreds of scopes cheap: only the markers are left."""
    def refuse(self, *arguments):
        raise AssertionError("the method was traced")

    monkeypatch.setattr(npu_stream_switch, "__enter__", refuse)
    monkeypatch.setattr(npu_stream_switch, "__exit__", refuse)

    def f(x):
        with npu_stream_switch("a"):
            return x + 1

    assert torch.equal(compile_graph(f)(X), X + 1)


@pytest.mark.parametrize("make", [lambda t: npu_stream_switch(t), lambda t: super_kernel(t)])
def test_half_a_character_is_no_label(make):
    def f(x):
        with make("a\ud800"):
            return x + 1

    for run in (f, compile_graph(f)):
        with pytest.raises(ValueError, match="surrogate"):
            run(X)


def test_a_break_between_the_scopes_of_a_loop_runs_eagerly_and_says_so(programs, logged):
    """Dynamo gives up the whole function when a loop breaks; no scope was open, so nothing is lost
    but the streams."""
    def f(x):
        for i in range(3):
            with npu_stream_switch(f"s{i}"):
                x = x + i
            torch._dynamo.graph_break()
        return x

    compiled = compile_graph(f, fullgraph=False)
    for _ in range(2):
        assert torch.equal(compiled(X), f(X))
    warning, = [r.getMessage() for r in logged if "without streams" in r.getMessage()]
    assert f"test_scopes.py:{f.__code__.co_firstlineno + 4}" in warning


def test_a_break_in_a_function_that_a_scope_calls_is_in_the_scope():
    def helper(x):
        torch._dynamo.graph_break()
        return x * 2

    def f(x):
        with npu_stream_switch("a"):
            return helper(x)

    with pytest.raises(anabranch.ScopeBreakError, match='"a"'):
        compile_graph(f, fullgraph=False)(X)


def test_a_generator_of_the_users_own_is_refused_with_a_way_out():
    generator = torch.Generator()

    def f(x):
        with npu_stream_switch("a"):
            return x + torch.rand(4, generator=generator)

    with pytest.raises(RuntimeError, match="default generator"):
        compile_graph(f)(X)
