"""Options: defaults, valid values, and errors that list what is valid."""

import copy

import pytest
import torch
from support import check_equal, compile_graph

import anabranch
from anabranch import CompilerConfig
from anabranch.config import IDLE, OPTIONS

X = torch.ones(3)


def test_defaults():
    config = CompilerConfig()
    assert config.mode == "max-autotune"
    assert config.ge_config.enable_single_stream is False
    assert config.experimental_config.topology_sorting_strategy == "DFS"
    assert (config.debug.graph_dump.type, config.debug.graph_dump.path) == (None, ".")
    assert config.anabranch.auto_streams == "off" and config.anabranch.fold is True
    assert config.as_dict() == {name: default for name, (default, _) in OPTIONS.items()}


@pytest.mark.parametrize("name, good, bad", [
    ("mode", "reduce-overhead", "fast"),
    ("ge_config.enable_single_stream", True, 1),
    ("ge_config.aicore_num", "8|16", "8"),
    ("experimental_config.topology_sorting_strategy", "StableRDFS", "dfs"),
    ("debug.graph_dump.type", "pbtxt", "svg"),
    ("debug.graph_dump.path", "/tmp", None),
    ("debug.run_eagerly", True, "yes"),
    ("anabranch.auto_streams", "LoadBalance:64", "LoadBalance:65"),
    ("anabranch.tune", "full", True),
    ("anabranch.threads", 2, -1),
    ("anabranch.trace", "t.json", 3),
])
def test_values(name, good, bad):
    config = CompilerConfig()
    *path, last = name.split(".")
    section = config
    for part in path:
        section = getattr(section, part)
    setattr(section, last, good)
    assert getattr(section, last) == good and config.as_dict()[name] == good
    with pytest.raises(ValueError, match=name.replace(".", r"\.")):
        setattr(section, last, bad)
    assert getattr(section, last) == good


def test_unknown_names_list_the_valid_ones():
    config = CompilerConfig()
    with pytest.raises(ValueError, match="debug.graph_dump.path, debug.graph_dump.type|"
                                         "debug.graph_dump.type, debug.graph_dump.path"):
        config.debug.graph_dump.kind = "txt"
    with pytest.raises(ValueError, match="ge_config.enable_single_stream"):
        config.ge_config.single = True
    with pytest.raises(ValueError, match="mode"):
        config.nothing
    with pytest.raises(ValueError, match="debug"):
        config.debug = 1  # a section is no option


def test_copies_are_independent():
    config = CompilerConfig()
    other = copy.deepcopy(config)
    other.debug.run_eagerly = True
    assert config.debug.run_eagerly is False


@pytest.mark.parametrize("keywords", [
    {},
    {"options": {"anabranch.threads": 1}},
    {"options": CompilerConfig().as_dict()},
    {"mode": "reduce-overhead"},
    {"mode": "max-autotune-no-cudagraphs"},
])
def test_the_backend_by_name_and_as_a_function(keywords):
    for backend in ("anabranch", anabranch.backend):
        torch._dynamo.reset()
        compiled = torch.compile(lambda x: x + 1, backend=backend, **keywords)
        assert torch.equal(compiled(X), X + 1)


@pytest.mark.parametrize("keywords", [
    {"options": {"nonsense": 1}}, {"options": {"mode": "x"}}, {"mode": "nonsense"}])
def test_bad_keywords_are_value_errors(keywords):
    with pytest.raises(ValueError, match="valid"):
        torch.compile(lambda x: x + 1, backend="anabranch", **keywords)(X)


def test_a_config_of_another_type_is_a_type_error():
    with pytest.raises(TypeError, match="CompilerConfig"):
        anabranch.backend({"mode": "max-autotune"})


def test_run_eagerly_runs_the_captured_graph_without_a_program(programs):
    config = CompilerConfig()
    config.debug.run_eagerly = True

    def f(x):
        with anabranch.stream("a"):
            return anabranch.wait(x, x + 1) * 2

    check_equal(f, X, config=config)
    assert programs == []


def test_single_stream_with_labels_is_a_compile_error():
    config = CompilerConfig()
    config.ge_config.enable_single_stream = True

    def f(x):
        with anabranch.stream("a"):
            return x + 1

    with pytest.raises(anabranch.CompileError, match="single"):
        compile_graph(f, config)(X)
    check_equal(lambda x: x + 1, X, config=config)


SET = {
    "experimental_config.cc_parallel_enable": True,
    "anabranch.tune": "full",
    "anabranch.freeze": True,
    "anabranch.trace": "t.json",
}


@pytest.mark.parametrize("name", IDLE)
def test_an_option_without_effect_says_so_once(name, logged):
    config = CompilerConfig().copy_with({name: SET[name]})
    for _ in range(2):
        torch._dynamo.reset()
        check_equal(lambda x: x + 1, X, config=config)
    assert [r.getMessage() for r in logged] == [f"option {name} = {SET[name]!r} has no effect here"]


def test_the_defaults_say_nothing(logged):
    check_equal(lambda x: x + 1, X, config=CompilerConfig())
    assert not logged
