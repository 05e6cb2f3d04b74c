"""Small builders for tests that drive torch.classes.anabranch.Program with graph text."""

import json

import torch

from anabranch import library


def program(statements, constants=(), **options):
    """A Program of the statements of one graph, one a line."""
    body = "\n".join("  " + line.strip() for line in statements.strip().splitlines())
    text = f'anabranch 1\ngraph "test" {{\n{body}\n}}\n'
    return library.program_class()(text, json.dumps(options), list(constants))


def run(statements, *tensors, integers=(), constants=(), **options):
    """Builds, calls once, and returns the tensor outputs."""
    made = program(statements, constants, **options)
    outputs, _ = made.run(list(tensors), list(integers))
    return outputs


def label(name):
    """The attributes of an operator inside a stream scope."""
    return f'{{"_user_stream_label": "{name}"}}'


def same(result, expected):
    """Bit for bit, with type and shape."""
    return (result.dtype == expected.dtype and result.shape == expected.shape
            and torch.equal(result, expected))
