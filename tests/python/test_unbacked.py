"""Sizes and numbers that only the data decides: defined by an operator, used on any stream."""

import pytest
import torch
from program_text import label, program, run, same
from support import check_equal, compile_graph

from anabranch import stream as S
from anabranch import wait as W

X = torch.arange(-6, 6, dtype=torch.float32).reshape(3, 4)


@pytest.fixture(autouse=True)
def capture_numbers():
    with torch._dynamo.config.patch(
            capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True):
        yield


@pytest.fixture
def streams(monkeypatch):
    """Graphs with symbolic sizes use their labels too."""
    monkeypatch.setenv("ENABLE_DYNAMIC_SHAPE_MULTI_STREAM", "1")


def test_a_count_from_nonzero_is_used_on_other_streams(streams, programs, adversary):
    # nonzero on "1" defines the size; full on "2" has no tensor operand and must wait for it
    def f(x):
        with S("1"):
            found = torch.nonzero(x > 0)
        with S("2"):
            ones = torch.ones(found.shape[0], 3)
        with S("3"):
            total = ones.sum() + found.sum()
        return found * 2, ones, total, found.shape[0]

    compiled = check_equal(f, X, calls=3)
    (made,) = programs
    for count in (0, 1, 12):
        y = torch.zeros(12)
        y[:count] = 1
        y = y.reshape(3, 4)
        for mine, eager in zip(compiled(y), f(y), strict=True):
            assert mine == eager if isinstance(eager, int) else torch.equal(mine, eager)
    assert len(programs) == 1  # one program for all counts
    ones = made.one("aten.full.default") if "aten.full" in made.text else made.one(
        "aten.ones.default")
    assert ones.label == "2" and "u0" in ones.line


def test_symbolic_sizes_idle_labels_unless_asked(programs, logged):
    def f(x):
        with S("1"):
            return torch.nonzero(x)

    check_equal(f, X)
    assert any("symbolic sizes" in record.getMessage() for record in logged)


def test_item_as_size_and_as_number(streams, adversary):
    def f(x, y):
        with S("count"):
            n = (x > 0).sum().item()
            torch._check(n <= 12)
        with S("use"):
            head = y[:n] * n
        return head, n

    check_equal(f, X, torch.arange(12.0))


def test_the_compiler_leaves_a_slice_of_unknown_bounds_to_the_operator():
    def f(x, y):
        n = x.sum().item()
        return y[n:] + 1, y[:n].clone()

    compiled = compile_graph(f)
    for count in (0, 1, 3, 5, 9):
        x, y = torch.tensor([count, 0]), torch.arange(5.0)
        for mine, eager in zip(compiled(x, y), f(x, y), strict=True):
            assert torch.equal(mine, eager)
    whole = torch.arange(20.0)
    for mine, eager in zip(compiled(torch.tensor([2]), whole[10:15]),
                           f(torch.tensor([2]), whole[10:15]), strict=True):
        assert torch.equal(mine, eager)


def test_floats_and_flags_read_back(streams, adversary):
    def f(x, y):
        with S("1"):
            scale = x.sum().item()
            positive = (x.mean() > 0).item()
        with S("2"):
            scaled = torch.add(y, y, alpha=scale)
            chosen = torch.where(torch.tensor(positive), y, -y)
        return scaled, chosen, y * scale

    check_equal(f, X + 1.25, X)
    check_equal(f, X - 9.5, X)


def test_masked_select_unique_and_boolean_indexing(streams):
    def f(x, mask):
        with S("a"):
            picked = torch.masked_select(x, mask)
        with S("b"):
            indexed = x[mask] * 2
        W(indexed, picked)
        values, inverse = torch.unique(x.long(), return_inverse=True)
        return picked + 1, indexed + 1, values, inverse

    check_equal(f, X, X > 0, calls=2)
    check_equal(f, X, X > 100)


def test_a_write_at_found_positions(streams, adversary):
    def f(x, cache):
        with S("find"):
            rows = torch.nonzero(x[:, 0] > 0).squeeze(1)
        with S("write"):
            cache.index_fill_(0, rows, 1.0)
        return cache.sum(), rows

    check_equal(f, X + 5, torch.zeros(3, 4), calls=2)


def test_an_assertion_that_fails_names_itself():
    def f(x):
        n = x.sum().item()
        torch._check(n < 5)
        torch._check(n >= 0)
        return torch.zeros(n)

    compiled = compile_graph(f)
    assert compiled(torch.tensor([2, 2])).shape == (4,)
    with pytest.raises(RuntimeError, match="u0 < 5|u0 <= 4"):
        compiled(torch.tensor([4, 4]))
    assert compiled(torch.tensor([1])).shape == (1,)


def test_arithmetic_on_a_float_is_refused_with_a_way_out():
    def f(x):
        return torch.add(x, x, alpha=x.sum().item() * 2.0)

    with pytest.raises(Exception, match="arithmetic on a number(.|\n)*keep the value in a tensor"):
        compile_graph(f)(X)


def test_graph_text_a_symbol_orders_its_users():
    # no tensor edge from item to full: only the symbol
    made = program(f"""
        %x = input : i64[2] @b0
        %s = aten.sum.default(%x) {label("1")} : i64[] @b1
        %n = aten._local_scalar_dense.default(%s) {label("1")} : int(u0)
        %f = aten.full.default([{{(u0*2)}}], 3.0) {label("2")} : f32[(u0*2)] @b2
        %v = view aten.slice.Tensor(%f, 0, {{u0}}) : f32[u0]+u0 @b2
        return %f, {{u0}}, %v
        """)
    tensors, integers = made.run([torch.tensor([1, 2])], [])
    assert same(tensors[0], torch.full((6,), 3.0)) and integers == [3]
    assert same(tensors[1], torch.full((3,), 3.0))
    assert "wait" in made.text("schedule")


def test_graph_text_a_float_is_the_value_itself():
    (out,) = run("""
        %x = input : f32[2] @b0
        %s = aten.sum.default(%x) : f32[] @b1
        %z = aten._local_scalar_dense.default(%s) : float(z0)
        %y = aten.mul.Scalar(%x, %z) : f32[2] @b2
        return %y
        """, torch.tensor([0.5, 0.25]))
    assert same(out, torch.tensor([0.375, 0.1875]))


def test_graph_text_a_symbol_without_a_definition_is_refused():
    with pytest.raises(RuntimeError, match="undefined-symbol(.|\n)*u0"):
        program("""
            %x = input : f32[2] @b0
            %y = aten.nonzero.default(%x) : i64[(u0*2),1] @b1
            return %y
            """)
