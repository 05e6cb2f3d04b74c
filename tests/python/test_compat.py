"""The whole public surface of TorchAir exists, with the same signatures."""

import importlib
import inspect
import json
import os

import pytest

DATA = os.path.join(os.path.dirname(__file__), "data")


def load(name):
    with open(os.path.join(DATA, name), encoding="utf-8") as file:
        return json.load(file)


NAMES = [(module, name) for module, names in load("torchair_public_names.json").items()
         for name in names]
SIGNATURES = sorted(load("torchair_signatures.json").items())


def find(path):
    """The object at a dotted path, importing as much of it as is modules."""
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return found
    raise AssertionError(f"no module of {path} imports")


@pytest.mark.parametrize("module, name", NAMES)
def test_public_names(module, name):
    assert hasattr(importlib.import_module(module), name)


@pytest.mark.parametrize("path, expected", SIGNATURES)
def test_signatures(path, expected):
    found = find(path)
    if isinstance(found, property) or path == "torchair.ge.Format":
        return  # the listed signature is of the getter, or of Python's own enum
    mine = inspect.signature(found)
    names = [parameter.split(":")[0].split("=")[0].strip()
             for parameter in split_parameters(expected)]
    assert [str(p).split(":")[0].split("=")[0].strip() for p in marked(mine)] == names
    for parameter in mine.parameters.values():
        if isinstance(parameter.default, (bool, int, float, str)):
            default = repr(parameter.default)
            assert f"{parameter.name}" in expected and f"= {default}" in expected \
                or f"{parameter.name}={default}" in expected


def marked(signature):
    """The parameters as text, with the bare star before keyword-only ones."""
    items, star = [], False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            star = True
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            items.append("*")
            star = True
        items.append(str(parameter))
    return items


def split_parameters(text):
    """The parameters of a signature's text: split at commas outside brackets."""
    items, depth, start = [], 0, 1
    for position, char in enumerate(text):
        depth += char in "([{<"
        depth -= char in ")]}>" and text[position - 1] != "-"
        if (char == "," and depth == 1) or (char == ")" and depth == 0):
            if text[start:position].strip():
                items.append(text[start:position].strip())
            start = position + 1
            if depth == 0:
                break
    return items


CALLS = [
    ("torchair.dynamo_export", ()),
    ("torchair.npu_format_cast_via_cpu", (None, 29)),
    ("torchair.register_replacement", (None, None, ())),
    ("torchair.register_fx_node_ge_converter", (None,)),
    ("torchair.ge.custom_op", ("Add",)),
    ("torchair.ge.Const", (1,)),
    ("torchair.ge.Clone", (1,)),
    ("torchair.inference.cache_compile", (None,)),
    ("torchair.inference.readable_cache", (None,)),
    ("torchair.inference.set_dim_gears", (None, {})),
    ("torchair.llm_datadist.create_npu_tensors", ([1], None, [0])),
    ("torchair.ops.npu_fused_infer_attention_score", ()),
    ("torchair.ops.npu_fused_infer_attention_score_v2", ()),
    ("torchair.tools.gegraph_check.align_trace.align_trace_json", (1, 2)),
    ("torchair.tools.gegraph_check.deadlock_check.deadlock_check", (1, 2, 3)),
    ("torchair.tools.gegraph_check.filter_operators.filter_comm_ops", (1, 2)),
]


@pytest.mark.parametrize("path, arguments", CALLS)
def test_what_is_not_built_says_what_to_use(path, arguments):
    with pytest.raises(NotImplementedError, match="is not available in anabranch: .{10}"):
        find(path)(*arguments)


def test_what_has_nothing_to_do_does_nothing():
    import torchair

    assert torchair.patch_for_hcom() is None
    assert torchair.use_internal_format_weight(None) is None


def test_aliases_are_the_same_modules():
    import torch_npu.dynamo.torchair as third
    import torchair
    import torchair.configs.compiler_config as second
    from torch_npu.dynamo import torchair as fourth
    from torchair.core.utils import logger

    import anabranch
    import anabranch.torchair.configs.compiler_config as first

    assert torchair is anabranch.torchair is third is fourth and first is second
    assert first.__spec__.name == "anabranch.torchair.configs.compiler_config"
    assert logger is anabranch.logger
    assert inspect.getmodule(torchair.get_npu_backend).__name__.startswith("anabranch")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("torchair.nothing")
