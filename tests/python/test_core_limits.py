"""limit_core_num and ge_config.aicore_num: caps of intra-op threads, and their warning."""

import re

import pytest
import torch
from support import check_equal, compile_graph

import anabranch
from anabranch import CompilerConfig
from anabranch.scopes import limit_core_num

A = torch.randn(64, 64)


@pytest.fixture(autouse=True)
def eight_threads():
    """Limits are shares of the threads; eight show more than this machine may have."""
    before = torch.get_num_threads()
    torch.set_num_threads(8)
    yield
    torch.set_num_threads(before)


def threads(program, which="schedule"):
    """{operator: threads of its launch, None without a limit}."""
    text = program.compiled.text(which)
    found = re.findall(r"launch \^(\w+)(?: threads (\d+))?", text)
    return {name: int(count) if count else None for name, count in found}


def configured(text):
    config = CompilerConfig()
    config.ge_config.aicore_num = text
    return config


def test_a_limit_is_a_share_of_the_threads_by_class(programs):
    def f(a):
        with limit_core_num(6, "24"):
            b = a @ a
            c = b + 1
        with limit_core_num("1", 1):
            d = c * 2
        return d.exp() @ a

    check_equal(f, A)
    for which in ("schedule", "serial"):
        assert threads(programs[-1].program, which) == {
            "mm": 2, "add": 4, "mul": 1, "exp": None, "mm_1": None}
    assert "mul: at most 1" in programs[-1].program.compiled.report()


def test_the_innermost_limit_wins_and_the_graph_s_is_for_the_rest(programs):
    def f(a):
        with limit_core_num(12, 48):
            b = a @ a
            with limit_core_num(3, 6):
                c = b @ a
        return (c @ a).neg()

    check_equal(f, A, config=configured("6|12"))
    assert threads(programs[-1].program) == {"mm": 4, "mm_1": 1, "mm_2": 2, "neg": 2}


def test_the_graph_s_limit_can_be_given_to_torch_compile(programs):
    torch._dynamo.reset()
    compiled = torch.compile(lambda a: a @ a, backend="anabranch",
                             options={"ge_config.aicore_num": "9|9"})
    assert torch.equal(compiled(A), A @ A)
    assert threads(programs[-1].program) == {"mm": 3}


def test_a_limit_changes_no_bits(programs):
    big = torch.randn(512, 1024)

    def f(x):
        with limit_core_num(1, 1):
            return x.sum(), x.mean(), (x * 2).exp()

    check_equal(f, big)
    counts = threads(programs[-1].program)
    assert counts["sum_1"] is None and counts["mean"] is None and counts["exp"] == 1


def test_operators_run_with_the_limit():
    seen = []

    @torch.library.custom_op("limits::count", mutates_args=())
    def count(x: torch.Tensor) -> torch.Tensor:
        seen.append(torch.get_num_threads())
        return x.clone()

    count.register_fake(torch.empty_like)

    def f(x):
        with limit_core_num(24, 12):
            a = count(x)
        with anabranch.stream("side"), limit_core_num(24, 6):
            b = count(a)
        return count(b)

    compiled = compile_graph(f)
    compiled(A)  # on one stream: torch looks at custom operators at their first call
    compiled(A)  # on two
    assert seen == [2, 1, 8, 2, 1, 8]


def warnings_of(program):
    return [text for text in program.compiled.diagnostics() if "core-limit" in text]


def test_limits_that_do_not_fit_draw_one_warning_with_both(programs):
    def f(a):
        with anabranch.stream("one"), limit_core_num(16, 16):
            b = a @ a
        with anabranch.stream("two"), limit_core_num(10, 16):
            c = a @ a
            d = c @ a
        return b, c, d

    check_equal(f, A)
    (warning,) = warnings_of(programs[-1].program)
    assert "mm (aten.mm.default) on stream \"one\"" in warning
    assert "on stream \"two\"" in warning and "16 + 10 cube cores" in warning
    assert "hang" in warning and warning.count("test_core_limits.py:") == 2


def test_limits_that_fit_or_never_meet_draw_none(programs):
    def fits(a):
        with anabranch.stream("one"), limit_core_num(14, 16):
            b = a @ a
        with limit_core_num(10, 32):
            return b + 0, a @ a

    def ordered(a):
        with anabranch.stream("one"), limit_core_num(20, 40):
            b = a @ a
        with limit_core_num(20, 40):
            return b @ a

    for function in (fits, ordered):
        check_equal(function, A)
        assert warnings_of(programs[-1].program) == []


@pytest.mark.parametrize("bad", ["8", "8|", "0|8", "8|0", "a|b", "8|16|2", "-1|2", 8, "٣|٣", True])
def test_a_bad_limit_of_the_graph_is_a_value_error(bad):
    with pytest.raises(ValueError, match=r"aicore_num.*AIC\|AIV"):
        configured(bad)


@pytest.mark.parametrize("arguments, kind, name", [
    ((0, 1), ValueError, "op_aicore_num"),
    ((1, "0"), ValueError, "op_vectorcore_num"),
    ((-1, 1), TypeError, "op_aicore_num"),
    ((1, 1.5), TypeError, "op_vectorcore_num"),
    ((True, 1), TypeError, "op_aicore_num"),
    ((1, [2]), TypeError, "op_vectorcore_num"),
])
def test_bad_limits_name_the_argument(arguments, kind, name):
    with pytest.raises(kind, match=name):
        limit_core_num(*arguments)

    def f(x):
        with limit_core_num(*arguments):
            return x + 1

    with pytest.raises(kind, match=name):
        compile_graph(f)(A)


def test_a_number_that_is_too_large_is_an_error_with_the_line():
    def f(x):
        with limit_core_num(10**12, 1):
            return x + 1

    with pytest.raises(anabranch.CompileError, match=r"_op_aicore_num(.|\n)*test_core_limits.py"):
        compile_graph(f)(A)
