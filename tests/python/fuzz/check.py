"""Checks the program of one seed; a failure is shrunk and becomes a script."""

import dataclasses

import torch

from fuzz import generator, shrink
from fuzz.compare import CALLS, NotLegal, differences

SCRIPT = '''

import os
import anabranch
os.environ["ENABLE_DYNAMIC_SHAPE_MULTI_STREAM"] = "1"
torch.manual_seed(1)
eager = M().requires_grad_({training})
torch.manual_seed(1)
module = M().requires_grad_({training})
config = anabranch.CompilerConfig().copy_with({{"anabranch.tune": "off"}})
compiled = torch.compile(module, backend=anabranch.backend(config), fullgraph=True, dynamic={dynamic})
anabranch.library.operators().set_adversary({seed})  # random delays; -1: none
for call, size in enumerate({sizes}):
    with torch.set_grad_enabled({training}):
        for function in (eager, compiled):
            torch.manual_seed(call)
            arguments = inputs(size)
            print(function.__class__.__name__, function(*arguments), arguments)
'''


@dataclasses.dataclass
class Verdict:
    """`found` is empty for a program that is right; `refused` counts those that torch refuses."""

    program: generator.Program
    found: list
    refused: int


def attempt(program, seed):
    """The differences; an exception of the compiled program counts as one."""
    try:
        return differences(program, seed)
    except NotLegal:
        raise
    except Exception as problem:
        return [f"{type(problem).__name__}: {problem}"]


def capturable(program):
    """False for what torch itself refuses, such as out= with a view, or writes to mixed aliases."""
    try:
        differences(program, backend="aot_eager")
    except Exception:
        return False
    return True


def is_exception(found):
    return bool(found) and not found[0].startswith("call ")


def check(seed, kind=None):
    """A Verdict on the program of a seed, or on the next one where torch refuses this one."""
    for refused in range(20):
        program = generator.program(1000000 * refused + seed, kind)
        try:
            found = attempt(program, seed)
        except NotLegal:
            continue
        if is_exception(found) and not capturable(program):
            continue
        return Verdict(program, found, refused)
    raise AssertionError(f"torch refuses every program of seed {seed}")


def symptom(found):
    """What a smaller program must show too: the kind of difference, or of exception."""
    if not found:
        return None
    return found[0].split(":")[0] if is_exception(found) else "differs"


def shrunk(verdict, seed):
    """A smaller program that fails in the same way, and its differences."""
    wanted = symptom(verdict.found)

    def fails(source):
        program = dataclasses.replace(verdict.program, source=source)
        try:
            found = attempt(program, seed)
        except NotLegal:
            return None
        if symptom(found) != wanted or (is_exception(found) and not capturable(program)):
            return None
        return found

    source, found = shrink.shrink(verdict.program.source, fails)
    return dataclasses.replace(verdict.program, source=source), found or verdict.found


def script(program, seed):
    """The program as a script of its own, which prints eager's results and ours."""
    sizes = [size for size, _ in CALLS[program.kind]]
    return program.source + SCRIPT.format(training=program.training, dynamic=program.dynamic,
                                          sizes=sizes, seed=seed * 8 + 1)


def report(verdict, seed):
    """The text about a failure: what differs, then the smallest script that shows it."""
    program, found = shrunk(verdict, seed)
    lines = "\n".join(found)
    quoted = "\n".join("# " + line for line in lines.splitlines()[:40])
    return f"{quoted}\n# (torch {torch.__version__}, seed {seed})\n{script(program, seed)}"
