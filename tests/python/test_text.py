"""What the graph text says about each operator: memory, writes, effects, literals, sizes."""

import math

import pytest
import torch
from support import check_equal, compile_graph

import anabranch
from anabranch import stream as S

X = torch.arange(12.0).reshape(3, 4)


def line_of(programs, op, index=0):
    return [s.line for s in programs[-1].captured() if s.op == op][index]


def test_views_share_the_buffer_and_are_not_launched(programs):
    check_equal(lambda x: x.t()[1:].expand(2, 3, 3) + 1, X)
    lines = [s for s in programs[-1].captured() if s.view]
    assert lines and all("@b0" in s.line for s in lines)
    assert "f32[4,3](1,4) @b0" in lines[0].line and "+1 @b0" in lines[1].line


def test_reshape_is_a_view_or_a_copy_as_the_storage_says(programs):
    check_equal(lambda x: (x.reshape(-1) + 1, x.t().reshape(-1) + 1), X)
    assert "view aten.view" in line_of(programs, "aten.view.default")
    assert any("aten.clone" in s.op for s in programs[-1].captured())


def test_in_place_and_out_are_writes(programs):
    def f(x):
        y = x * 1
        y.add_(2)
        o = torch.empty(3, 4)
        torch.mul(y, 3, out=o)
        y[0] = 5
        return o, y

    check_equal(f, X)
    assert "writes(%mul)" in line_of(programs, "aten.add_.Tensor")
    assert "writes(%empty)" in line_of(programs, "aten.mul.out")


def test_a_written_input_is_written_in_place(programs):
    check_equal(lambda x: x.add_(1).mul_(2), X, calls=2)
    assert [s.op for s in programs[-1].captured()] == \
        ["input", "aten.add_.Tensor", "aten.mul_.Tensor"]


def test_silent_writes_of_batch_norm(programs):
    norm = torch.nn.BatchNorm1d(4)
    reference = torch.nn.BatchNorm1d(4)
    with torch.no_grad():
        compiled = compile_graph(norm)
        assert torch.equal(compiled(X), reference(X))
    assert torch.equal(norm.running_mean, reference.running_mean)
    assert torch.equal(norm.running_var, reference.running_var)


def test_random_operators_draw_eager_numbers(programs):
    def f(x):
        with S("a"):
            p = torch.rand(3, 4)
        q = torch.nn.functional.dropout(x, 0.5)
        with S("b"):
            r = torch.randperm(4) + torch.bernoulli(x.clamp(0, 1)).sum()
        return p, q, r, torch.normal(0.0, 1.0, (2,))

    check_equal(f, X, calls=3)
    marked = [s.op for s in programs[-1].captured() if 'random "cpu"' in s.line]
    assert len(marked) == 5


def test_dead_random_operators_still_draw():
    def f(x):
        torch.rand(3)
        return x + torch.rand(4)

    check_equal(f, X)


def test_several_results_and_unused_ones(programs):
    def f(x):
        a, b = x.chunk(2, dim=1)
        values, indices = torch.max(x, 1)
        return a + 1, indices, torch.topk(x, 2).values

    check_equal(f, X)
    assert ": f32[3] @b" in line_of(programs, "aten.max.dim")
    assert ", i64[3] @b" in line_of(programs, "aten.max.dim")


def test_literals(programs):
    def f(x):
        y = torch.full((2,), math.inf) + torch.full((2,), 1e-30, dtype=torch.float64)
        z = x.to(torch.bfloat16).contiguous(memory_format=torch.contiguous_format)
        return y, z, torch.where(x > 2, -1, 2.5), x.sum(dim=[0], keepdim=True), x * 1e30

    check_equal(f, X)
    text = programs[-1].text
    for literal in ("inf", "1e-30", "dtype(bf16)", 'device("cpu")', "[0], true"):
        assert literal in text


def test_complex_numbers():
    def f(x):
        z = torch.complex(x, x) * (1 + 2j)
        return z.conj() + 1, torch.view_as_real(z)

    check_equal(f, X)


def test_none_numbers_and_inputs_as_outputs():
    check_equal(lambda x: (None, 3, x, x + 1, "text", 2.5), X)


def test_constants(programs):
    table = torch.arange(4.0)

    def f(x):
        return x + torch.tensor([1.0, 2.0, 3.0, 4.0]) + table

    check_equal(f, X)
    assert "constant : f32[4]" in programs[-1].text


def test_source_lines_are_the_users(programs):
    linear = torch.nn.Linear(4, 4).requires_grad_(False)

    def f(x):
        with S("a"):
            return linear(x)

    check_equal(f, X)
    line = line_of(programs, "aten.addmm.default")
    assert f'test_text.py" {f.__code__.co_firstlineno + 2} in "f"' in line


def test_operators_that_only_check_are_left_out(programs):
    check_equal(lambda x: x.to(torch.float32) + 1, X)
    assert "_assert_tensor_metadata" not in programs[-1].text


def test_custom_operators_are_captured_as_they_are(programs):
    @torch.library.custom_op("anabranch_test::scale", mutates_args=("out",))
    def scale(x: torch.Tensor, factor: float, out: torch.Tensor) -> None:
        out.copy_(x * factor)

    def f(x):
        out = torch.empty_like(x)
        with S("a"):
            torch.ops.anabranch_test.scale(x, 3.0, out)
        return out + 1

    check_equal(f, X)
    assert "writes(%empty" in line_of(programs, "anabranch_test.scale.default")


# Dynamic sizes.

def test_symbolic_sizes_run_on_one_stream_and_say_so_once(programs, logged):
    def f(x):
        n = x.shape[0]
        with S("a"):
            y = x * n
        return y.view(-1), n, n // 2 + 1, torch.arange(n)

    compiled = compile_graph(f, dynamic=True)
    for n in (3, 5, 8):
        x = torch.ones(n, 4)
        mine, eager = compiled(x), f(x)
        assert torch.equal(mine[0], eager[0]) and mine[1:3] == eager[1:3]
        assert torch.equal(mine[3], eager[3])
    assert len(programs) == 1
    assert "input : int(s" in programs[0].text
    warnings = [r.getMessage() for r in logged if r.levelname == "WARNING"]
    assert len(warnings) == 1 and "ENABLE_DYNAMIC_SHAPE_MULTI_STREAM=1" in warnings[0]


def test_symbolic_sizes_on_streams_when_asked(programs, logged, monkeypatch):
    monkeypatch.setenv("ENABLE_DYNAMIC_SHAPE_MULTI_STREAM", "1")

    def f(x):
        with S("a"):
            y = x * x.shape[0]
        with S("b"):
            z = x + x.shape[1]
        return y + z

    compiled = compile_graph(f, dynamic=True)
    for n in (3, 5, 8):
        assert torch.equal(compiled(torch.ones(n, n + 1)), f(torch.ones(n, n + 1)))
    assert not [r for r in logged if "idle" in r.getMessage()]
    assert '"a"' in programs[0].program.compiled.report()


def test_size_expressions():
    def f(x):
        n = x.shape[0]
        return x.new_ones(n * 2 + 1, max(n, 4)), x[: n // 2], x.repeat(2, 1), n % 3

    compiled = compile_graph(f, dynamic=True)
    for n in (6, 9, 13):
        mine, eager = compiled(torch.ones(n, 2)), f(torch.ones(n, 2))
        assert all(a.shape == b.shape for a, b in zip(mine[:3], eager[:3], strict=True))
        assert mine[3] == eager[3]


# What is refused.

def refused(function, *arguments, match):
    with pytest.raises(anabranch.CompileError, match=match) as error:
        compile_graph(function)(*arguments)
    text = str(error.value)
    assert "test_text.py" in text and "fix: " in text
    return text


@torch._dynamo.config.patch(capture_scalar_outputs=True)
def test_arithmetic_on_floats_read_back_is_refused():
    refused(lambda x: torch.full((2,), x.sum().item() * 2.0), X, match="read back")


def test_text_is_identical_for_equal_programs(programs):
    def f(x):
        with S("a"):
            return x @ x.t()

    check_equal(f, X)
    torch._dynamo.reset()
    check_equal(f, X)
    first, second = (p.text.split("\n", 2)[2] for p in programs)
    assert first == second


def test_a_change_of_shape_after_a_write_reaches_the_tensor_object():
    """Inside quantile: lerp_ writes, squeeze_ then reshapes what lerp_ returned."""
    def f(x):
        with S("a"):
            y = x + 1
            y.mul_(2).unsqueeze_(0).add_(1).transpose_(0, 1)
        return x.quantile(0.3), y

    check_equal(f, torch.randn(4, 4))
