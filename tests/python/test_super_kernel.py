"""super_kernel: one launch unit on one stream."""

import re

import pytest
import torch
from support import check_equal

import anabranch
from anabranch import CompilerConfig
from anabranch.scopes import super_kernel

X = torch.arange(16.0).reshape(4, 4)


def streams(program):
    """{label: [commands]} of the schedule, without numbers of threads."""
    found = {}
    text = re.sub(r" threads \d+", "", program.compiled.text("schedule"))
    for label, body in re.findall(r'stream \d+ "([^"]*)"[^{]*\{([^}]*)\}', text):
        found[label] = [c.strip() for c in body.split(";") if c.strip()]
    return found


def warnings_of(program):
    return [text for text in program.compiled.diagnostics() if "super-kernel" in text]


def two_labels(options):
    def f(x):
        with super_kernel("sk", options):
            with anabranch.stream("one"):
                a = x + 1
            with anabranch.stream("two"):
                b = a * 2
            c = b.exp()
        return c.neg()
    return f


@pytest.mark.parametrize("options", ["", "stream-fusion=0", "other=1", "stream-fusion"])
def test_several_labels_draw_one_warning_and_run_on_one_stream(programs, options):
    check_equal(two_labels(options), X, calls=3)
    program = programs[-1].program
    (warning,) = warnings_of(program)
    assert 'super_kernel "sk"' in warning and "stream-fusion=1" in warning
    assert 'stream "one"' in warning and 'stream "two"' in warning
    assert warning.count("test_super_kernel.py:") == 2
    assert streams(program) == {
        "": ["wait e0", "launch ^neg"],
        "one": ["launch ^add", "launch ^mul", "launch ^exp", "record e0"]}


@pytest.mark.parametrize("options", ["stream-fusion=1", "a=1:stream-fusion=1", "stream-fusion=1:b"])
def test_stream_fusion_keeps_the_labels(programs, options):
    check_equal(two_labels(options), X, calls=3)
    program = programs[-1].program
    assert warnings_of(program) == []
    assert set(streams(program)) == {"", "one", "two"}


def test_waits_stand_before_a_unit_and_records_after_it(programs):
    def f(x):
        a = x + 1
        b = a * 2
        with anabranch.stream("side"), super_kernel("sk"):
            k1 = x.exp()
            k2 = k1 + a
            k3 = k2 * b
        return k3, k1.neg()

    check_equal(f, X, calls=3)
    program = programs[-1].program
    assert streams(program)["side"] == [
        "wait e0", "launch ^exp", "launch ^add_1", "launch ^mul_1", "record e1"]
    report = program.compiled.report()
    assert "super_kernel launch units: 1" in report
    assert '"sk" on stream "side": exp … mul_1 (3 operators)' in report


def test_a_unit_that_could_not_start_is_split_and_the_report_says_where(programs):
    def f(x):
        with anabranch.stream("side"), super_kernel("sk"):
            k1 = x.exp()
        c = k1.neg()
        with anabranch.stream("side"), super_kernel("sk"):
            k2 = k1 * 2
            k3 = k2 + c
        return k3

    check_equal(f, X, calls=3)
    report = programs[-1].program.compiled.report()
    assert "super_kernel launch units: 2" in report
    assert "split before add: it waits for neg on the default stream" in report


def test_it_nests_with_other_scopes_and_none_takes_out(programs):
    def f(x):
        with super_kernel("outer"), anabranch.stream("one"):
            a = x + 1
            with super_kernel(None), anabranch.stream("two"):
                b = x * 2
            with super_kernel("inner", "stream-fusion=1"), anabranch.stream("three"):
                c = a.exp()
            d = a.neg()
        return a, b, c, d

    check_equal(f, X, calls=3)
    program = programs[-1].program
    assert warnings_of(program) == []
    assert set(streams(program)) == {"", "one", "two", "three"}
    assert "super_kernel launch units: 2" in program.compiled.report()


def test_the_optimized_dump_says_where_it_ran(programs):
    check_equal(two_labels(""), X)
    dump = programs[-1].program.compiled.dump("optimized", "pbtxt")
    assert dump.count('"_user_stream_label"') == 2
    assert dump.count('"_stream_label"') == 3


def test_on_one_stream_there_is_nothing_to_warn_about(programs):
    config = CompilerConfig()
    config.ge_config.enable_single_stream = True

    def f(x):
        with super_kernel("sk"):
            return (x + 1) * 2

    check_equal(f, X, config=config)
    assert programs[-1].program.compiled.diagnostics() == []
