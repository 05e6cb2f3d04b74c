"""The line that long compiles show on a terminal."""

import io
import logging
import sys

import pytest
import torch
from support import compile_graph

import anabranch
from anabranch import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def model(x):
    for tag in ("a", "b"):
        with anabranch.stream(tag):
            x = anabranch.wait(x * 2, x) + 1
    return x


@pytest.fixture
def impatient(monkeypatch):
    """Shows every stage at once."""
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "_EVERY", 0.0)


def compile_on(monkeypatch, stream, function=model):
    monkeypatch.setattr(sys, "stderr", stream)
    return compile_graph(function)(torch.ones(2))


def test_stages_with_counts_and_no_line_left(monkeypatch, impatient):
    terminal = Terminal()
    compile_on(monkeypatch, terminal)
    text = terminal.getvalue()
    for stage in ("tracing (", "making ATen operators (", "writing the graph (",
                  "scheduling and verifying ("):
        assert stage in text
    assert "operators so far)" in text and "\n" not in text
    assert text.endswith("\r") and text.split("\r")[-2].strip() == ""


def test_a_compile_that_fails_leaves_no_line(monkeypatch, impatient):
    terminal = Terminal()

    def fails(x):
        with anabranch.stream("a"):
            return torch.ops.higher_order.scan(lambda c, t: (c + t, c), [x[0]], [x], ())

    with pytest.raises(Exception):
        compile_on(monkeypatch, terminal, fails)
    compile_on(monkeypatch, terminal)
    assert terminal.getvalue().endswith("\r")


def test_quiet_when_short_no_terminal_or_by_log_level(monkeypatch, impatient):
    stream = io.StringIO()
    compile_on(monkeypatch, stream)
    level = anabranch.logger.level
    loud = Terminal()
    anabranch.logger.setLevel(logging.ERROR)
    try:
        torch._dynamo.reset()
        compile_on(monkeypatch, loud)
    finally:
        anabranch.logger.setLevel(level)
    monkeypatch.setattr(progress, "PATIENCE", 3600.0)
    torch._dynamo.reset()
    compile_on(monkeypatch, loud)
    monkeypatch.setattr(sys, "stderr", None)
    torch._dynamo.reset()
    compile_graph(model)(torch.ones(2))
    assert stream.getvalue() == loud.getvalue() == ""
