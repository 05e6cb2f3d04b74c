"""Fixtures of the Python tests: a clean compiler for each test, and a view of what was compiled."""

import os
import sys
import tempfile

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "python"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ["ANABRANCH_CACHE_DIR"] = tempfile.mkdtemp(prefix="anabranch-tests-")

import torch  # noqa: E402 (after the environment that it reads)

from anabranch import aliases, program  # noqa: E402

sys.path.append(aliases.SHIMS)
aliases.install_aliases()

from support import Compiled  # noqa: E402


@pytest.fixture(autouse=True)
def clean_compiler(monkeypatch):
    """No compiled code, warning or symbolic-size setting of another test, and no tuning.

    Calls that are measured run on one stream; tests of streams want theirs from the first call on.
    """
    from anabranch import config, log

    monkeypatch.setitem(config.OPTIONS, "anabranch.tune",
                        ("off", config.OPTIONS["anabranch.tune"][1]))

    torch._dynamo.reset()
    log._said.clear()
    monkeypatch.delenv("ENABLE_DYNAMIC_SHAPE_MULTI_STREAM", raising=False)
    torch.manual_seed(0)


@pytest.fixture
def programs(monkeypatch):
    """The programs that the test compiles, in order, as Compiled."""
    made = []
    original = program.Program.__init__

    def remember(self, *arguments):
        original(self, *arguments)
        made.append(Compiled(self))

    monkeypatch.setattr(program.Program, "__init__", remember)
    return made


@pytest.fixture(params=[None, 3], ids=["plain", "adversary"])
def adversary(request):
    """Runs the test twice: normally, and with random delays before every launch and record."""
    from anabranch import library

    operators = library.operators()
    if request.param is not None:
        operators.set_adversary(request.param)
    yield request.param
    operators.set_adversary(-1)


@pytest.fixture
def logged():
    """The records that the package's logger makes during the test."""
    import logging

    from anabranch.log import logger

    records = []

    class Keep(logging.Handler):
        def emit(self, record):
            records.append(record)

    handler, level = Keep(), logger.level
    logger.addHandler(handler)
    yield records
    logger.removeHandler(handler)
    logger.setLevel(level)


@pytest.fixture
def group(tmp_path):
    """A gloo group of this process alone."""
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    yield dist.group.WORLD
    dist.destroy_process_group()
