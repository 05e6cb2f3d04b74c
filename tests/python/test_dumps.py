"""Dump files and the log: names, kinds, what they show."""

import logging
import os
import re

import pytest
import torch
from support import check_equal, compile_graph

import anabranch
from anabranch import CompilerConfig
from anabranch import stream as S
from anabranch import wait as W

X = torch.ones(4, 4)
NAME = re.compile(r"dynamo_(original|optimized)_graph_\d+_rank_0_pid_\d+_ts_\d{14,}\.\w+")


def two_streams(x, y):
    a = x + y
    with S("1"):
        W(y, a)
        b = x @ y
    return a, b, x @ y


def dump_config(kind, folder):
    config = CompilerConfig()
    config.debug.graph_dump.type = kind
    config.debug.graph_dump.path = str(folder)
    return config


@pytest.mark.parametrize("kind, wanted", [
    ("pbtxt", ['op: "MatMul"', 'op: "Identity"', "^Add", "_user_stream_label"]),
    ("txt", ['type: "MatMul"', 'type: "Identity"', "Add:-1", "_user_stream_label"]),
    ("py", ["def forward", "torch.ops.aten.mm.default"]),
])
def test_files(tmp_path, kind, wanted):
    folder = tmp_path / "made" / "here"
    check_equal(two_streams, X, X + 1, config=dump_config(kind, folder))
    names = sorted(os.listdir(folder))
    assert [NAME.fullmatch(name).group(1) for name in names] == ["optimized", "original"]
    assert all(name.endswith("." + kind) and f"pid_{os.getpid()}_" in name for name in names)
    text = (folder / names[1]).read_text()
    for part in wanted:
        assert part in text, (part, text)


def test_no_dump_unless_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_equal(two_streams, X, X + 1)
    assert os.listdir(tmp_path) == []


def test_debug_shows_graph_streams_and_events(capsys):
    from torchair.core.utils import logger

    logger.setLevel(logging.DEBUG)
    try:
        check_equal(two_streams, X, X + 1)
    finally:
        logger.setLevel(logging.WARNING)
    shown = capsys.readouterr().err
    assert "aten.mm.default" in shown and "wait 0" in shown
    assert 'stream' in shown and '"1"' in shown and "event" in shown.lower()


def test_nothing_is_shown_by_default(capsys):
    check_equal(two_streams, X, X + 1)
    shown = capsys.readouterr()
    assert shown.out == "" and "anabranch" not in shown.err


def test_trace_of_a_block(tmp_path):
    compiled = compile_graph(two_streams)
    compiled(X, X)
    json_path, html_path = tmp_path / "t.json", tmp_path / "t.html"
    with anabranch.trace(str(json_path), str(html_path)):
        compiled(X, X)
    assert json_path.read_text().count("aten.mm") >= 2 and "test_dumps.py" in json_path.read_text()
    assert "aten.mm" in html_path.read_text()


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    config = CompilerConfig()
    config.debug.graph_dump.type = "txt"
    config.debug.graph_dump.path = str(tmp_path / "file" / "below")
    with pytest.raises(anabranch.CompileError, match=r"below.*\n  fix: set debug"):
        compile_graph(lambda x: x + 1, config)(torch.ones(2))
