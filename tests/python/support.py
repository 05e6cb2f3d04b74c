"""Helpers of the Python tests."""

import os
import re
import subprocess
import sys

import torch

import anabranch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

_STATEMENT = re.compile(
    r"^\s*(?:(?P<results>%[^=]*) = )?(?:\^(?P<name>\S+) )?(?:view )?(?P<op>[A-Za-z_][\w.]*)")
_LABEL = re.compile(r'"_user_stream_label": "([^"]*)"')
_AFTER = re.compile(r" after\(([^)]*)\)")


class Statement:
    """One line of a graph text."""

    def __init__(self, line):
        match = _STATEMENT.match(line)
        self.line = line.strip()
        results = (match["results"] or "").replace("%", "").split(", ")
        self.name = match["name"] or results[0].strip()
        self.op = match["op"]
        self.view = bool(re.match(r"^\s*(%[^=]* = )?(\^\S+ )?view ", line))
        label = _LABEL.search(line)
        self.label = label.group(1) if label else None
        after = _AFTER.search(line)
        self.after = re.findall(r"\^([\w.]+)", after.group(1)) if after else []
        self.operands = re.findall(r"%([\w.]+)", line.split("(", 1)[1].split(")", 1)[0]) \
            if "(" in line else []


def statements(text):
    lines = text.strip().split("\n")
    return [Statement(line) for line in lines
            if _STATEMENT.match(line) and line.startswith("  ") and "return" not in line[:9]]


class Compiled:
    """What a test may ask about a compiled graph."""

    def __init__(self, program):
        self.program = program
        self.text = program.graph_text.text

    def captured(self):
        """The statements as Python wrote them."""
        return statements(self.text)

    def original(self):
        """The statements after the waits were resolved: waits have `after`."""
        return statements(self.program.compiled.text("original"))

    def labels(self, *ops):
        """[(operator, label)] of the launched operators, all or those named."""
        return [(s.op, s.label) for s in self.captured()
                if (not ops or s.op in ops) and s.op not in ("input", "constant")]

    def one(self, op, index=0):
        return [s for s in self.original() if s.op == op][index]


def compile_graph(function, config=None, **keywords):
    """torch.compile with our backend: whole graphs and static sizes unless told otherwise, and,
    without a configuration, every stream on its own worker however small the test is."""
    keywords = {"fullgraph": True, "dynamic": False} | keywords
    if config is None:
        config = anabranch.CompilerConfig().copy_with({"anabranch.fold": False})
    return torch.compile(function, backend=anabranch.backend(config), **keywords)


def equal(mine, eager):
    """Bit for bit, through nested lists and tuples."""
    if isinstance(eager, (list, tuple)):
        return len(mine) == len(eager) and all(map(equal, mine, eager))
    if isinstance(eager, torch.Tensor):
        return mine.dtype == eager.dtype and torch.equal(mine, eager)
    return mine == eager


def check_equal(function, *arguments, calls=1, config=None, **keywords):
    """Compiles, calls with copies, compares results and written arguments with eager."""
    compiled = compile_graph(function, config, **keywords)

    def copies():
        return [a.clone() if isinstance(a, torch.Tensor) else a for a in arguments]

    for _ in range(calls):
        mine_in, eager_in = copies(), copies()
        seed = torch.random.get_rng_state()
        mine = compiled(*mine_in)
        after = torch.random.get_rng_state()
        torch.random.set_rng_state(seed)
        eager = function(*eager_in)
        assert equal(mine, eager), (mine, eager)
        assert equal(mine_in, eager_in), "a written argument differs"
        assert torch.equal(after, torch.random.get_rng_state()), "the generator differs"
    return compiled


def slow(x, rounds=4):
    """x, a little later: gives a missing order time to show."""
    a = torch.full((96, 96), 1 / 96)
    for _ in range(rounds):
        a = a @ a
    return x + (a[0, 0] * 96 - 1).round().to(x.dtype)


def run_script(script, *arguments, runner=(), env=None, cwd=None, timeout=240):
    """Runs `python -m anabranch run SCRIPT`; returns the finished process."""
    path = os.path.join(ROOT, "python")
    environment = os.environ | {"PYTHONPATH": path} | (env or {})
    command = [sys.executable, "-m", "anabranch", "run", *runner, str(script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=cwd,
                          timeout=timeout)
