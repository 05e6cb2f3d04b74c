"""tune="quick": the first calls are measured, products of few rows are cut, results stay right."""

import glob
import logging
import os
import signal
import threading

import pytest
import torch
from support import compile_graph

import anabranch
from anabranch import log
from anabranch import stream as S

ENOUGH = 64  # calls after which every tuning has ended


def quick(**values):
    return anabranch.CompilerConfig().copy_with(
        {"anabranch.tune": "quick"} | {f"anabranch.{key}": value for key, value in values.items()})


def near(mine, eager):
    torch.testing.assert_close(mine, eager, rtol=1e-5, atol=1e-4)


def two_towers(x, w, v, bias):
    a = torch.relu(torch.addmm(bias, x, w.t()))
    with S("side"):
        b = torch.tanh(x @ v)
    return a + b, a.sum(0)


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def towers(rows=4):
    return (torch.randn(rows, 256), torch.randn(512, 256), torch.randn(256, 512),
            torch.randn(512))


def test_every_call_is_right_and_tuning_ends(programs, two_threads, logged):
    log.logger.setLevel(logging.INFO)
    compiled = compile_graph(two_towers, quick())
    for _ in range(ENOUGH):
        arguments = towers()
        near(compiled(*arguments), two_towers(*arguments))
    assert not programs[0].program.compiled.tuning()
    said = [record.getMessage() for record in logged if "tune: " in record.getMessage()]
    assert len(said) == 1 and "measured: one stream with all cores" in said[0]
    assert "tune: " in programs[0].program.compiled.report()


def test_off_measures_nothing(programs, two_threads):
    compiled = compile_graph(two_towers, quick(tune="off"))
    arguments = towers()
    compiled(*arguments)
    assert not programs[0].program.compiled.tuning()


def test_times_are_kept_in_a_file(two_threads, monkeypatch, tmp_path):
    monkeypatch.setenv("ANABRANCH_CACHE_DIR", str(tmp_path))
    compiled = compile_graph(two_towers, quick())
    for _ in range(ENOUGH):
        compiled(*towers())
    (path,) = glob.glob(str(tmp_path / "times-*.txt"))
    with open(path) as file:
        assert "aten.addmm.default" in file.read()


def test_a_cache_that_cannot_be_written_is_no_error(two_threads, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ANABRANCH_CACHE_DIR", str(tmp_path / "file" / "below"))
    compiled = compile_graph(two_towers, quick())
    for _ in range(ENOUGH):
        arguments = towers()
        near(compiled(*arguments), two_towers(*arguments))


# Few rows, weights by rows and by columns, transposed and sliced operands, odd widths.
PRODUCTS = {
    "weights by rows": lambda m: (torch.randn(m, 256), torch.randn(512, 256).t()),
    "weights by columns": lambda m: (torch.randn(m, 256), torch.randn(256, 512)),
    "odd width": lambda m: (torch.randn(m, 301), torch.randn(517, 301).t()),
    "sliced weights": lambda m: (torch.randn(m, 256), torch.randn(300, 640)[:256, 3:600]),
    "sliced rows": lambda m: (torch.randn(m, 400)[:, 7:263], torch.randn(512, 256).t()),
    "transposed rows": lambda m: (torch.randn(256, m).t(), torch.randn(512, 256).t()),
}


@pytest.mark.parametrize("kind", PRODUCTS)
@pytest.mark.parametrize("rows", [1, 2, 8, 33])
@pytest.mark.parametrize("bias", [False, True])
def test_products_in_parts(kind, rows, bias, two_threads):
    def plain(x, w):
        return torch.mm(x, w) * 2

    def added(x, w):
        return torch.addmm(torch.arange(float(w.size(1))), x, w) * 2

    function = added if bias else plain
    compiled = compile_graph(function, quick())
    x, w = PRODUCTS[kind](rows)
    for _ in range(16):
        near(compiled(x, w), function(x, w))


def test_weights_that_change_are_read_anew(two_threads):
    layer = torch.nn.Linear(256, 512)
    compiled = compile_graph(layer, quick())
    x = torch.randn(4, 256)
    with torch.no_grad():
        for step in range(24):
            near(compiled(x), layer(x))
            layer.weight.add_(0.01 * step)


def test_callers_at_the_same_time(two_threads):
    compiled = compile_graph(two_towers, quick())
    compiled(*towers())
    wrong = []

    def call():
        for _ in range(ENOUGH):
            arguments = towers()
            try:
                near(compiled(*arguments), two_towers(*arguments))
            except Exception as problem:
                wrong.append(problem)

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_fork_after_tuning(two_threads):
    compiled = compile_graph(two_towers, quick())
    arguments = towers()
    for _ in range(ENOUGH):
        compiled(*arguments)
    expected = two_towers(*arguments)  # here: in the child eager mode would hang in OpenMP
    child = os.fork()
    if child == 0:
        signal.alarm(120)
        right = all(torch.allclose(m, e, atol=1e-4) for m, e in
                    zip(compiled(*arguments), expected, strict=True))
        os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_traces_show_the_users_streams(programs, two_threads, tmp_path):
    compiled = compile_graph(two_towers, quick())
    for _ in range(ENOUGH):
        compiled(*towers())
    path = tmp_path / "trace.json"
    with anabranch.trace(str(path)):
        compiled(*towers())
    text = path.read_text()
    assert "side" in text
    assert "core 1" not in text


def test_random_numbers_and_writes_stay_in_order(two_threads):
    def f(x, w, cache):
        with S("noise"):
            noise = torch.rand_like(x)
        cache.add_(1)
        with S("read"):
            b = cache * 2
        cache.mul_(2)
        return x @ w + noise.sum(), b

    compiled = compile_graph(f, quick())
    mine_cache, eager_cache = torch.zeros(64), torch.zeros(64)
    x, w = torch.randn(4, 256), torch.randn(256, 512)
    for _ in range(ENOUGH):
        seed = torch.random.get_rng_state()
        mine = compiled(x, w, mine_cache)
        torch.random.set_rng_state(seed)
        near(mine, f(x, w, eager_cache))
        assert torch.equal(mine_cache, eager_cache)
        mine_cache.remainder_(7), eager_cache.remainder_(7)
