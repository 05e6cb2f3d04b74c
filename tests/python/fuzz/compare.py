"""Runs one program compiled and eagerly, and says everything in which the two differ."""

import contextlib
import linecache
import os

import torch

import anabranch
from anabranch import library

SWITCH = "ENABLE_DYNAMIC_SHAPE_MULTI_STREAM"
# (size, delays): a size that was not there while the program was written comes last.
CALLS = {"static": [(3, False), (3, True), (3, True)],
         "training": [(3, False), (3, True)],
         "dynamic": [(3, False), (5, True), (4, False), (7, True)]}


class NotLegal(Exception):
    """Eager execution itself refuses the program."""


def bits(tensor):
    tensor = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8)


def same(mine, eager):
    """Value, type, layout."""
    if not isinstance(eager, torch.Tensor):
        return mine == eager
    return (mine.dtype == eager.dtype and mine.shape == eager.shape
            and mine.stride() == eager.stride() and torch.equal(bits(mine), bits(eager)))


def close(mine, eager):
    """AOTAutograd may add gradients in another order, and gives zeros where eager has none."""
    if mine is None or eager is None:
        return all(t is None or not t.any() for t in (mine, eager))
    return torch.allclose(mine, eager, rtol=1e-4, atol=1e-5, equal_nan=True)


def sharing(tensors):
    """Which pairs of tensors share their storage, and which are one object."""
    tensors = [t for t in tensors if isinstance(t, torch.Tensor)]
    return [(i, j, a is b) for i, a in enumerate(tensors) for j, b in enumerate(tensors)
            if i < j and a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr() != 0]


def outcome(module, function, inputs, size, training, seed):
    """Everything that a caller can see of one call."""
    torch.manual_seed(seed)
    arguments = inputs(size)
    if training:
        arguments = [x.requires_grad_() for x in arguments]
    with torch.set_grad_enabled(training):
        results = function(*arguments)
    seen = [*results, *arguments, *module.parameters(), *module.buffers()]
    found = {"results": list(results), "written": seen[len(results):], "sharing": sharing(seen),
             "grad": [r.requires_grad for r in results if isinstance(r, torch.Tensor)]}
    if training and any(found["grad"]):
        sum(r.sum() for r in results if r.requires_grad).backward()
        found["gradients"] = [t.grad for t in [*arguments, *module.parameters()]]
    found["generator"] = [torch.random.get_rng_state()]
    return found


def load(source, training, name="<program>"):
    """A module of the program, and its inputs(n)."""
    scope = {"__name__": name}
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), scope)
    torch.manual_seed(1)
    return scope["M"]().requires_grad_(training), scope["inputs"]


@contextlib.contextmanager
def delays(seed):
    """Random delays before every launch and record, if there is a seed."""
    if seed is not None:
        library.operators().set_adversary(seed)
    try:
        yield
    finally:
        library.operators().set_adversary(-1)


@contextlib.contextmanager
def streams_of_dynamic_shapes():
    before = os.environ.get(SWITCH)
    os.environ[SWITCH] = "1"
    try:
        yield
    finally:
        os.environ.pop(SWITCH)
        if before is not None:
            os.environ[SWITCH] = before


def compared(call, mine, eager):
    """One line for each difference."""
    found = []
    for key, expected in eager.items():
        got = mine.get(key)
        if key in ("sharing", "grad"):
            if got != expected:
                found.append(f"call {call}: {key} {got}, eager {expected}")
            continue
        if got is None or len(got) != len(expected):
            found.append(f"call {call}: {key} {got}, eager {expected}")
            continue
        equal = close if key == "gradients" else same
        found += [f"call {call}: {key}[{index}] {a}, eager {b}"
                  for index, (a, b) in enumerate(zip(got, expected, strict=True))
                  if not equal(a, b)]
    return found


def streams_from_the_first_call():
    """Calls that are measured run on one stream, where no order can be missing."""
    return anabranch.backend(anabranch.CompilerConfig().copy_with({"anabranch.tune": "off"}))


def differences(program, seed=0, backend=None):
    """What differs from eager, as text lines; empty if nothing does. Compiles once.

    `seed` chooses the delays. Raises NotLegal, and what the compiled program raises. With another
    backend: the same for that one.
    """
    torch._dynamo.reset()
    module, inputs = load(program.source, program.training)
    twin, _ = load(program.source, program.training)
    compiled = torch.compile(module, backend=backend or streams_from_the_first_call(),
                             fullgraph=True,
                             dynamic=program.dynamic)
    found = []
    with streams_of_dynamic_shapes():
        for call, (size, delayed) in enumerate(CALLS[program.kind]):
            for each in (module, twin):
                each.zero_grad()
            try:
                eager = outcome(twin, twin, inputs, size, program.training, call)
            except Exception as problem:
                if call == 0:
                    raise NotLegal from problem
                break  # not every program fits a size that it was not written with
            with delays(seed * 8 + call if delayed else None):
                mine = outcome(module, compiled, inputs, size, program.training, call)
            found += compared(call, mine, eager)
    return found
