"""A fixed part of the random programs of `./dev fuzz`, and tests of the fuzzer itself.

ANABRANCH_FUZZ_SEED and ANABRANCH_FUZZ_COUNT choose others.
"""

import os
import subprocess
import sys
import types

import pytest
import torch
from fuzz import __main__ as driver
from fuzz import check, compare, generator, shrink
from support import ROOT

FIRST = int(os.environ.get("ANABRANCH_FUZZ_SEED", 0))
COUNT = int(os.environ.get("ANABRANCH_FUZZ_COUNT", 150))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_equals_eager(seed):
    verdict = check.check(seed)
    if verdict.found:
        pytest.fail(check.report(verdict, seed), pytrace=False)


def test_same_seed_same_program():
    assert generator.program(5).source == generator.program(5).source
    assert generator.program(5).source != generator.program(6).source


def test_programs_have_everything():
    """What the fuzzer promises to try does occur."""
    sources = [generator.program(seed).source for seed in range(60)]
    kinds = {generator.Generator(seed).kind for seed in range(60)}
    assert kinds == {"static", "dynamic", "training"}
    for text in ("    W(", "= W(", "ops.wait([", "ops.record()", "with S('", "with again:",
                 "with C.", "helper(", "self.h0(", "dropout(", "rand", ".view(", "add_(", "out=",
                 "[0] = "):
        assert any(text in source.split("class M")[1] for source in sources), text


def planted(program, seed=0, backend=None):
    """A stand-in for a fault: relu under a scope. Runs the program eagerly only."""
    module, inputs = compare.load(program.source, program.training)
    try:
        module(*inputs(3))
    except Exception as problem:
        raise compare.NotLegal from problem
    text = program.source.split("class M")[1]
    return ["call 0: planted"] if ".relu()" in text and "with S('" in text else []


def test_a_failure_becomes_a_small_script(monkeypatch, tmp_path):
    monkeypatch.setattr(check, "differences", planted)
    seed = next(s for s in range(100) if planted(generator.program(s, "static")))
    text = check.report(check.check(seed, "static"), seed)
    body = text.split("def forward")[1].split("def inputs")[0]
    assert ".relu()" in text and len(body.strip().splitlines()) <= 6, text
    script = tmp_path / "small.py"
    script.write_text(text)
    path = os.pathsep.join([os.path.join(ROOT, "python"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": path}, timeout=240)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("M "), done.stdout


class FakeWorker:
    def __init__(self, code=0):
        self.text, self.errors, self.seeds = [], ["why\n"], range(4)
        self.process = types.SimpleNamespace(wait=lambda: code)


def test_reports_are_printed_whole_and_counted(capsys):
    run = driver.Run(driver.parse(["--count", "4", "--jobs", "2"]))
    run.waiting.clear()
    one, two = FakeWorker(), FakeWorker()
    for worker, line in [(one, "@start 0"), (two, "@start 1"), (one, "@fail 0 static"),
                         (one, "@S('a')"), (two, "@done 1 dynamic 2"), (one, "def f"),
                         (one, "@start 2"), (one, "@done 2 static 0"), (one, None), (two, None)]:
        run.handle(worker, line)
    assert capsys.readouterr().out == \
        "FAILED: python -m fuzz --seed 0 --count 1\n@S('a')\ndef f\n"
    assert (run.failed, run.refused, run.kinds) == (1, 2, {"static": 2, "dynamic": 1})


def test_a_crash_is_put_down_to_its_program(capsys):
    run = driver.Run(driver.parse(["--count", "4", "--jobs", "0"]))
    run.waiting.clear()
    worker = FakeWorker(-11)
    run.handle(worker, "@start 1")
    run.handle(worker, None)
    assert capsys.readouterr().out.startswith(
        "FAILED: the process ended with -11: python -m fuzz --seed 1 --count 1\nwhy\n")
    assert run.failed == 1


def test_shrink_keeps_what_fails():
    source = generator.program(3, "static").source
    small, shows = shrink.shrink(source, lambda text: ["yes"] if "forward" in text else None)
    assert shows == ["yes"]
    assert "with " not in small.split("class M")[1]
    compile(small, "small", "exec")


def test_a_wrong_backend_is_noticed():
    def wrong(graph, inputs):
        def run(*arguments):
            return [o + 1 if isinstance(o, torch.Tensor) and o.is_floating_point() else o
                    for o in graph(*arguments)]
        return run

    noticed = [bool(compare.differences(generator.program(seed, "static"), backend=wrong))
               for seed in range(4)]
    assert any(noticed)
