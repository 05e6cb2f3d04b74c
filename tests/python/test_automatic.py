"""Streams that the compiler decides on: automatic ones, inner ones, and folded ones."""

import json
import logging

import pytest
import torch
from support import check_equal, compile_graph, equal

import anabranch
from anabranch import CompilerConfig, log
from anabranch import stream as S
from anabranch import wait as W

MODES = ["off", "cv", "LoadBalance:1", "LoadBalance:3", "MainStream:2", "auto"]


def options(**values):
    return CompilerConfig().copy_with({f"anabranch.{name}": value for name, value in values.items()})


def branches(x, y):
    """Two chains of products, a write, a random operator, a user's stream and a wait."""
    a = torch.mm(x, x)
    b = torch.mm(y, y)
    with S("user"):
        c = torch.relu(W(x, b) + y)
    y.add_(1)
    noise = torch.rand_like(a)
    with S(""):
        d = torch.mm(a, b) * noise
    return torch.mm(a, x), torch.mm(b, y), c, d, y.t() + 1


def half(x):
    """Half-precision products, which have one thread each: streams pay."""
    with S("side"):
        a = x @ x
    return a, x @ x.t()


def tiny(x):
    with S("side"):
        a = x + 1
    return a, x * 2


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_equals_eager(mode, adversary):
    check_equal(branches, torch.randn(32, 32), torch.randn(32, 32), calls=3,
                config=options(auto_streams=mode))


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_in_training(mode):
    def f(x, w):
        with S("user"):
            a = torch.tanh(x @ w)
        return (a * torch.sigmoid(w @ x)).sum()

    compiled = compile_graph(f, options(auto_streams=mode))
    mine = [torch.randn(16, 16, requires_grad=True) for _ in range(2)]
    eager = [leaf.detach().clone().requires_grad_() for leaf in mine]
    compiled(*mine).backward()
    f(*eager).backward()
    for one, other in zip(mine, eager, strict=True):
        torch.testing.assert_close(one.grad, other.grad)


def nodes_with(dump, key):
    return [text for text in dump.split("node {")[1:] if f'key: "{key}"' in text]


def test_automatic_streams_are_in_the_optimised_dump_alone(programs):
    def f(x):
        with S("user"):
            a = x @ x
        return a, x @ x.t(), x.t() @ x

    check_equal(f, torch.randn(8, 8), config=options(auto_streams="LoadBalance:2", fold=False))
    compiled = programs[0].program.compiled
    original, optimised = (compiled.dump(which, "pbtxt") for which in ("original", "optimized"))
    assert nodes_with(original, "_stream_label") == []
    assert [('"user"' in text) for text in nodes_with(optimised, "_user_stream_label")] == [True]
    assert {"user" if '"user"' in text else "auto" for text in nodes_with(optimised, "_stream_label")} \
        == {"user", "auto"}
    assert 'stream 2 "auto_0"' in compiled.text("optimized")


def test_a_tag_with_an_automatic_name_is_another_stream(programs):
    def f(x):
        with S("auto_0"):
            a = x @ x
        return a, x @ x.t(), x.t() @ x

    check_equal(f, torch.randn(8, 8), config=options(auto_streams="LoadBalance:2", fold=False))
    text = programs[0].program.compiled.text("optimized")
    assert 'stream 1 "auto_0"' in text and 'stream 2 "auto_0_2"' in text


@pytest.mark.parametrize("wrong", ["on", "LoadBalance", "LoadBalance:0", "MainStream:65", "cv:2", 1])
def test_wrong_modes_list_the_valid_ones(wrong):
    config = CompilerConfig()
    with pytest.raises(ValueError, match=r"off, cv, LoadBalance:N, MainStream:N \(N from 1 to 64\), auto"):
        config.anabranch.auto_streams = wrong
    with pytest.raises(ValueError, match="N from 1 to 64"):
        torch.compile(lambda x: x + 1, backend="anabranch",
                      options={"anabranch.auto_streams": wrong})(torch.ones(2))


def test_the_mode_by_torch_compiles_options(programs):
    compiled = torch.compile(lambda x: (x @ x, x @ x.t()), backend="anabranch", dynamic=False,
                             options={"anabranch.auto_streams": "LoadBalance:2",
                                      "anabranch.fold": False})
    x = torch.randn(8, 8)
    assert equal(compiled(x), (x @ x, x @ x.t()))
    assert 'stream "auto_0"' in programs[0].program.compiled.report()


@pytest.mark.parametrize("function, said", [
    (lambda x: torch.relu((x @ x) @ x), "serial"),
    (lambda x: (x @ x, x @ x.t(), x.t() @ x), "further streams: predicted"),
])
def test_auto_says_in_one_line_what_it_decided(function, said, logged):
    log.logger.setLevel(logging.INFO)
    check_equal(function, torch.randn(256, 256, dtype=torch.float16),
                config=options(auto_streams="auto", threads=2))
    lines = [r.getMessage() for r in logged if "auto_streams" in r.getMessage()]
    assert len(lines) == 1 and said in lines[0], lines


@pytest.mark.parametrize("asked", [False, True])
def test_symbolic_sizes_use_automatic_streams_only_when_asked(asked, programs, logged, monkeypatch):
    if asked:
        monkeypatch.setenv("ENABLE_DYNAMIC_SHAPE_MULTI_STREAM", "1")

    def f(x):
        with S("user"):
            a = x @ x.t()
        return a, torch.relu(x), x * 2, x.t() @ x

    compiled = compile_graph(f, options(auto_streams="LoadBalance:2", fold=False), dynamic=True)
    for n in (3, 5, 8):
        x = torch.randn(n, 4)
        assert equal(compiled(x), f(x))
    warnings = [r.getMessage() for r in logged if "ENABLE_DYNAMIC_SHAPE_MULTI_STREAM" in r.getMessage()]
    report = programs[0].program.compiled.report()
    assert ('stream "auto_0"' in report) == ('stream "user"' in report) == asked
    assert len(warnings) == (not asked)
    if not asked:
        assert "its stream labels and automatic streams are idle" in warnings[0]


@pytest.mark.parametrize("value", ["0", "2", "true", "1 "])
def test_only_exactly_1_turns_symbolic_streams_on(value, programs, monkeypatch):
    monkeypatch.setenv("ENABLE_DYNAMIC_SHAPE_MULTI_STREAM", value)
    check_equal(tiny, torch.ones(3, 4), dynamic=True)
    assert "on 1 streams" in programs[0].program.compiled.report()


def test_symbolic_sizes_warn_about_automatic_streams_without_labels(logged):
    check_equal(lambda x: (x + 1, x * 2), torch.ones(3, 4), dynamic=True,
                config=options(auto_streams="cv"))
    lines = [r.getMessage() for r in logged]
    assert len(lines) == 1 and "automatic streams are idle" in lines[0]


def folded(program):
    return "(folded)" in program.program.compiled.report()


def test_streams_that_cannot_pay_share_the_calling_thread(programs, logged):
    log.logger.setLevel(logging.INFO)
    check_equal(tiny, torch.ones(4), config=CompilerConfig(), calls=3)
    lines = [r.getMessage() for r in logged if "fold" in r.getMessage()]
    assert len(lines) == 1 and "too small" in lines[0] and 'stream "side"' in lines[0]
    assert folded(programs[0])
    # what the user wrote is still there
    schedule = programs[0].program.compiled.text("schedule")
    assert 'stream 1 "side" priority 0 inner_parallel true folded {' in schedule
    dump = programs[0].program.compiled.dump("optimized", "pbtxt")
    assert len(nodes_with(dump, "_stream_label")) == len(nodes_with(dump, "_user_stream_label")) == 1


def test_fold_off_and_streams_that_pay_keep_their_workers(programs, logged):
    log.logger.setLevel(logging.INFO)
    check_equal(tiny, torch.ones(4), config=options(fold=False))
    # as the example of the README: one thread for each product, two cores
    check_equal(half, torch.randn(300, 300, dtype=torch.float16), config=options(threads=2))
    assert not any(map(folded, programs))
    assert not [r for r in logged if "fold" in r.getMessage()]


def test_a_folded_program_runs_on_the_calling_thread_unless_an_adversary_looks_for_races(
        programs, monkeypatch):
    import threading

    from anabranch import library

    seen = set()

    @torch.library.custom_op("anabranch_test::where", mutates_args=())
    def where(x: torch.Tensor) -> torch.Tensor:
        seen.add(threading.get_ident())
        return x + 0

    where.register_fake(torch.empty_like)

    def f(x):
        y = x + 1
        with S("side"):
            y = where(y)  # alone between two operators: nothing runs beside it
        return y * 2

    compiled = compile_graph(f, CompilerConfig())
    x = torch.ones(4)
    compiled(x)
    assert folded(programs[0])
    seen.clear()
    assert equal(compiled(x), f(x)) and seen == {threading.get_ident()}
    library.operators().set_adversary(1)
    try:
        seen.clear()
        assert equal(compiled(x), x * 2 + 2) and seen and threading.get_ident() not in seen
    finally:
        library.operators().set_adversary(-1)


def test_operators_of_ones_own_are_never_folded_while_they_may_meet(programs):
    import threading

    meeting = threading.Barrier(2, timeout=60)
    armed = []

    @torch.library.custom_op("anabranch_test::meet", mutates_args=())
    def meet(x: torch.Tensor) -> torch.Tensor:
        if armed:
            meeting.wait()
        return x + 0

    meet.register_fake(torch.empty_like)

    def f(x):
        with S("side"):
            a = meet(x)
        return a + meet(x)

    compiled = compile_graph(f, CompilerConfig())
    x = torch.ones(4)
    compiled(x)  # torch checks custom operators in the first call, which runs on one stream
    armed.append(True)
    for _ in range(3):
        assert torch.equal(compiled(x), x * 2)
    assert not folded(programs[0])


def test_many_callers_of_a_folded_program():
    from concurrent.futures import ThreadPoolExecutor

    compiled = compile_graph(tiny, CompilerConfig())
    compiled(torch.ones(4))
    inputs = [torch.full((4,), float(i)) for i in range(64)]
    with ThreadPoolExecutor(8) as callers:
        for x, mine in zip(inputs, callers.map(compiled, inputs), strict=True):
            assert equal(mine, tiny(x))


def test_collectives_leave_a_label_that_has_work_beside_them(group, programs):
    import torch.distributed._functional_collectives as collectives

    def f(x):
        with S("1"):
            total = collectives.all_reduce(x * 2, "sum", group)
            side = x @ x
        with S("2"):
            alone = collectives.all_reduce(x * 3, "sum", group)
        with S("3", enable_inner_parallel=False):
            strict = collectives.all_reduce(x * 4, "sum", group), x @ x
        return total + side, alone, *strict

    check_equal(f, torch.randn(4, 4), calls=3, config=CompilerConfig())
    text = programs[0].program.compiled.text("optimized")
    streams = {line.split('"')[1] for line in text.split("\n") if line.startswith("  stream")}
    assert streams == {"1", "1_comm", "2", "3"}
    assert not folded(programs[0])


def test_a_copy_asked_for_as_asynchronous_leaves_its_label(programs):
    def f(x):
        with S("1"):
            a = x.to(torch.float64, non_blocking=True)
            b = x @ x
        with S("2", enable_inner_parallel=False):
            c = x.to(torch.float64, non_blocking=True)
            d = x @ x.t()
        return a, b, c, d

    check_equal(f, torch.randn(8, 8), config=options(fold=False))
    text = programs[0].program.compiled.text("optimized")
    assert '"1_copy"' in text and '"2_copy"' not in text




def test_measured_costs_decide_instead_of_estimates(programs, logged, tmp_path):
    log.logger.setLevel(logging.INFO)

    def f(x):
        return x @ x, x @ x.t()

    x = torch.randn(8, 8)
    with anabranch.trace(str(tmp_path / "run.json")):
        compile_graph(f)(x)
    recorded = json.loads((tmp_path / "run.json").read_text())
    events = recorded if isinstance(recorded, list) else recorded["traceEvents"]
    for event in events:  # as if each product had taken 50 ms
        if event.get("ph") == "X" and event["name"].startswith("mm"):
            event["dur"] = 50000
            event["ts"] = events.index(event) * 100000
    slow = tmp_path / "slow.json"
    slow.write_text(json.dumps(recorded))
    check_equal(f, x, config=options(auto_streams="auto", threads=2))
    check_equal(f, x, config=options(auto_streams="auto", threads=2, costs=str(slow)))
    lines = [r.getMessage() for r in logged if "auto_streams" in r.getMessage()]
    assert "no further stream" in lines[0] and "predicted 50" in lines[1], lines


def test_costs_that_cannot_be_read_are_an_error(tmp_path):
    with pytest.raises(anabranch.CompileError, match="cannot be read"):
        compile_graph(tiny, options(costs=str(tmp_path / "none.json")))(torch.ones(2))
