"""Calls from Python: errors, many streams, many callers, the GIL, traces, shared memory, modes."""

import json
import sys
import threading
import time

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from anabranch import library
from program_text import label, program, run, same

A = torch.arange(12, dtype=torch.float32).reshape(3, 4) / 7


def failing(operator, *inputs):
    """A program whose second operator, on stream "side", fails when it runs."""
    return program(f"""
        %a = input : f32[3,4] @b0
        %i = input : i64[2] @b1
        %n = aten.neg.default(%a) : f32[3,4] @b2
        %bad = {operator} {label("side")} : f32[2,4] @b3 at "model.py" 12 in "forward"
        %late = aten.neg.default(%bad) : f32[2,4] @b4
        return %n, %late
        """)


PLACE = 'stream "side", at model.py:12 in forward)'


def test_an_operators_error_keeps_its_type_and_says_where():
    made = failing("aten.index.Tensor(%a, [%i])")
    with pytest.raises(IndexError) as error:
        made.run([A, torch.tensor([0, 9])], [])
    eager = pytest.raises(IndexError, lambda: A[torch.tensor([0, 9])])
    assert str(error.value).startswith(str(eager.value))
    assert "(in operator bad (aten.index.Tensor), " + PLACE in str(error.value)
    assert made.last_error_context() == " (in operator bad (aten.index.Tensor), " + PLACE
    (n, late), _ = made.run([A, torch.tensor([0, 2])], [])
    assert same(n, -A) and same(late, -A[[0, 2]])
    assert made.last_error_context() == ""


def test_a_runtime_error():
    made = failing("aten.index_select.default(%a, 1, %i)")
    with pytest.raises((RuntimeError, IndexError)) as error:
        made.run([A, torch.tensor([0, 7])], [])
    assert PLACE in str(error.value)
    made = failing("aten.mm.default(%a, %a)")
    with pytest.raises(RuntimeError) as error:
        made.run([A, torch.tensor([0, 1])], [])
    assert type(error.value) is RuntimeError and "mat1 and mat2" in str(error.value)
    assert PLACE in str(error.value)


@pytest.fixture(scope="module")
def python_operators():
    """Operators implemented in Python: one fails, one calls a program from inside a call."""
    made = torch.library.Library("abtest", "DEF")  # noqa: TOR901 (kept by the fixture)
    inner = program("""
        %x = input : f32[3,4] @b0
        %y = aten.mul.Scalar(%x, 10) {"_user_stream_label": "inner"} : f32[3,4] @b1
        return %y
        """)
    made.define("fail(Tensor x) -> Tensor")
    made.define("nested(Tensor x) -> Tensor")
    made.define("where(Tensor x) -> Tensor")
    places = []

    def fail(x):
        raise KeyError("a Python error")

    def where(x):
        places.append((threading.get_ident(), torch.is_grad_enabled(), torch.is_inference_mode_enabled()))
        return x.clone()

    made.impl("fail", fail, "CPU")
    made.impl("nested", lambda x: inner.run([x], [])[0][0], "CPU")
    made.impl("where", where, "CPU")
    yield places
    made._destroy()


def test_an_error_of_a_python_operator(python_operators):
    made = failing("abtest.fail.default(%a)")
    with pytest.raises(KeyError, match="a Python error"):
        made.run([A, torch.tensor([0, 1])], [])
    assert PLACE in made.last_error_context()


def test_a_program_called_from_inside_a_call(python_operators):
    (out,) = run(f"""
        %a = input : f32[3,4] @b0
        %n = abtest.nested.default(%a) {label("1")} : f32[3,4] @b1
        %m = abtest.nested.default(%n) : f32[3,4] @b2
        return %m
        """, A)
    assert same(out, A * 10 * 10)


def test_operators_see_the_callers_modes(python_operators):
    made = program(f"""
        %a = input : f32[3,4] @b0
        %n = abtest.where.default(%a) {label("1")} : f32[3,4] @b1
        return %n
        """)
    python_operators.clear()
    with torch.no_grad():
        (plain,), _ = made.run([A], [])
    with torch.inference_mode():
        (inference,), _ = made.run([A], [])
    assert [state[1:] for state in python_operators] == [(False, False), (False, True)]
    assert python_operators[0][0] != threading.get_ident()  # it ran on a worker
    assert inference.is_inference() and not plain.is_inference()


def test_outputs_are_ordinary_tensors():
    made = program(f"""
        %a = input : f32[3,4] @b0
        %n = aten.neg.default(%a) {label("1")} : f32[3,4] @b1
        %v = view aten.t.default(%n) : f32[4,3](1,4) @b1
        return %n, %v
        """)
    (n, v), _ = made.run([A], [])
    assert not n.is_inference() and not v.is_inference() and not n.requires_grad
    weight = torch.ones(3, 4, requires_grad=True)
    (n * weight).sum().backward()  # may be saved for a backward pass
    assert same(weight.grad, -A)


VIEW = """
    %a = input : f32[3,4] @b0
    %v = view aten.t.default(%a) : f32[4,3](1,4) @b0
    return %v
    """


def test_views_of_parameters_and_of_inference_tensors_are_as_in_eager_mode():
    weight = torch.nn.Parameter(A.clone())
    with torch.no_grad():
        (view,) = run(VIEW, weight)
    assert type(view) is torch.Tensor and not view.requires_grad
    with torch.inference_mode():
        made_inside = A.clone()
        assert not run(VIEW, weight)[0].is_inference()
        assert run(VIEW, made_inside)[0].is_inference()
    assert run(VIEW, made_inside)[0].is_inference()


def test_a_profiler_sees_the_operators_of_every_stream():
    made = program(SEED_EXAMPLE.replace("256", "64"))
    inputs = [torch.randn(64, 64).half() for _ in range(4)]
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        made.run(inputs, [])
    names = [event.name for event in profile.events()]
    assert names.count("aten::mm") == 2 and names.count("aten::add") == 2


@pytest.mark.parametrize("statement, words", [
    ("%y = aten.no_such.default(%a)", ["aten::no_such"]),
    ("%y = nodots(%a)", ["namespace"]),
    ("%y = aten.add.Tensor(%a)", ["argument other", "missing", "schema: aten::add.Tensor"]),
    ("%y = aten.add.Tensor(%a, %a, %a)", ["number 2", "by name"]),
    ("%y = aten.add.Tensor(%a, %a, beta=2)", ["beta", "no such argument"]),
    ("%y = aten.add.Tensor(%a, \"text\")", ["argument other", "\"text\"", "Tensor"]),
    ("%y = aten.sum.dim_IntList(%a, 1.5)", ["argument dim", "1.5"]),
    ("%y = aten.cat.default([%a, none])", ["none", "tensor"]),
    ("%y = aten.select.int(%a, %a, 0)", ["argument dim", "%a"]),
])
def test_what_does_not_fit_is_refused_when_the_program_is_made(statement, words):
    with pytest.raises(RuntimeError) as error:
        program(f"""
            %a = input : f32[3,4] @b0
            {statement} : f32[3,4] @b1 at "model.py" 7 in "forward"
            return %y
            """)
    for word in [*words, "model.py:7", "operator y"]:
        assert word in str(error.value)


def test_unknown_control_operators_are_refused_with_a_way_out():
    with pytest.raises(RuntimeError, match="control-flow(.|\n)*use cond or while_loop"):
        program("""
            %a = input : f32[3,4] @b0
            %y = higher_order.cond(%a) body graph "then" { %x = input : f32[3,4] @b0
              return %x } : f32[3,4] @b1
            return %y
            """)


@pytest.mark.parametrize("tensor, words", [
    (A.double(), "f64[3,4]"),
    (A.t(), "f32[4,3](1,4)"),
    (torch.zeros(4, 3).t(), "f32[3,4](1,3)"),
])
def test_inputs_must_be_of_the_captured_type(tensor, words):
    made = program("""
        %a = input : f32[3,4] @b0
        %y = aten.neg.default(%a) : f32[3,4] @b1
        return %y
        """)
    with pytest.raises(RuntimeError) as error:
        made.run([tensor], [])
    assert words in str(error.value) and "captured as f32[3,4](4,1)" in str(error.value)
    with pytest.raises(RuntimeError, match="takes 1 tensors, 2 were given"):
        made.run([A, A], [])
    with pytest.raises(RuntimeError, match="takes 0 integers, 1 were given"):
        made.run([A], [1])


def test_strides_of_single_rows_do_not_matter():
    made = program("""
        %a = input : f32[1,4] @b0
        %y = aten.neg.default(%a) : f32[1,4] @b1
        return %y
        """)
    x = torch.arange(8.0).as_strided((1, 4), (7, 1))
    assert same(made.run([x], [])[0][0], -x)


def test_options_are_checked():
    with pytest.raises(RuntimeError, match="unknown option \"colour\""):
        program("%a = input : f32[1] @b0\nreturn %a", colour="red")
    with pytest.raises(RuntimeError, match="bad-options"):
        program("%a = input : f32[1] @b0\nreturn %a", threads="many")


def test_three_hundred_streams():
    # a fan of 300 streams, each with its own chain, summed in one list
    lines = ["%x = input : f32[8] @b0"]
    for i in range(300):
        lines.append(f"%a{i} = aten.add.Tensor(%x, {i}) {label(i)} : f32[8] @b{2 * i + 1}")
        lines.append(f"%m{i} = aten.mul.Tensor(%a{i}, 2) {label(i)} : f32[8] @b{2 * i + 2}")
    items = ", ".join(f"%m{i}" for i in range(300))
    lines += [f"%s = aten.stack.default([{items}]) : f32[300,8] @b601", "return %s"]
    made = program("\n".join(lines))
    x = torch.randn(8)
    expected = torch.stack([(x + i) * 2 for i in range(300)])
    for _ in range(3):
        assert same(made.run([x], [])[0][0], expected)
    assert 0 < library.operators().worker_count() < 300


def chain(streams=3, length=10):
    """x → a chain that changes stream at every step; returns (program, function)."""
    lines = ["%v0 = input : f32[16] @b0"]
    for i in range(length):
        lines.append(f"%v{i + 1} = aten.add.Tensor(%v{i}, {i}) {label(i % streams)} : f32[16] @b{i + 1}")
    lines.append(f"return %v{length}")
    return program("\n".join(lines)), lambda x: x + sum(range(length))


@pytest.mark.parametrize("seed", [-1, 5])
def test_callers_at_the_same_time(seed):
    made, expected = chain()
    library.operators().set_adversary(seed)
    wrong = []

    def call(number):
        for i in range(20 if seed < 0 else 3):
            x = torch.full((16,), float(1000 * number + i))
            if not same(made.run([x], [])[0][0], expected(x)):
                wrong.append((number, i))

    threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        library.operators().set_adversary(-1)
    assert wrong == []


def test_python_goes_on_during_a_call():
    # a call that waits in C++ (the adversary's delays) must leave the GIL to another thread
    made, expected = chain(length=60)
    library.operators().set_adversary(1)
    result, x = [], torch.ones(16)
    caller = threading.Thread(target=lambda: result.append(made.run([x], [])[0][0]))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # a thread that keeps the GIL is never asked to give it up
    try:
        caller.start()
        steps = 0
        while caller.is_alive():
            time.sleep(0)
            steps += 1
        caller.join()
    finally:
        sys.setswitchinterval(interval)
        library.operators().set_adversary(-1)
    assert steps > 10 and same(result[0], expected(x))


SEED_EXAMPLE = f"""
    %in1 = input : f16[256,256] @b0
    %in2 = input : f16[256,256] @b1
    %in3 = input : f16[256,256] @b2
    %in4 = input : f16[256,256] @b3
    %add = aten.add.Tensor(%in1, %in2) : f16[256,256] @b4
    %alias = wait 0 (%in4) {label("1")} : f16[256,256] @b3
    ^dep0 wait_dependency 0 (%add)
    %mm = aten.mm.default(%in3, %alias) {label("1")} : f16[256,256] @b5 at "seed.py" 20 in "forward"
    %mm_1 = aten.mm.default(%in3, %alias) : f16[256,256] @b6 at "seed.py" 22 in "forward"
    %alias_1 = wait 1 (%alias) {label("2")} : f16[256,256] @b3
    ^dep1 wait_dependency 1 (%mm)
    %add_1 = aten.add.Tensor(%in3, %alias_1) {label("2")} : f16[256,256] @b7
    return %mm, %mm_1, %add_1
    """


def test_the_seed_example_and_its_trace():
    operators = library.operators()
    inputs = [torch.randn(256, 256).half() for _ in range(4)]
    made = program(SEED_EXAMPLE, name="seed")
    operators.trace_begin()
    try:
        for _ in range(2):
            (mm, mm_1, add_1), _ = made.run(inputs, [])
        events = json.loads(operators.trace_json())
        page = operators.trace_html()
    finally:
        operators.trace_end()
    assert same(mm, inputs[2] @ inputs[3]) and same(mm_1, mm) and same(add_1, inputs[2] + inputs[3])
    if isinstance(events, dict):
        events = events["traceEvents"]
    spans = [event for event in events if event["ph"] == "X" and event["name"] in ("mm", "mm_1")]
    assert len(spans) == 4
    assert len({(span["pid"], span["tid"]) for span in spans}) == 2  # each on its stream's track
    assert sum(event["ph"] == "s" for event in events) == sum(event["ph"] == "f" for event in events) > 0
    assert "seed.py" in page and "mm_1" in page
    with pytest.raises(RuntimeError, match="trace_begin"):
        operators.trace_json()


def test_texts_and_dumps():
    made = program(SEED_EXAMPLE, name="seed")
    assert 'graph "seed"' in made.text("original")
    assert "wait e" in made.text("schedule") and "wait e" not in made.text("serial")
    assert 'op: "MatMul"' in made.dump("original", "pbtxt")
    assert "MatMul" in made.dump("optimized", "txt")
    assert '"1"' in made.report()
    with pytest.raises(RuntimeError, match="original, optimized or launched"):
        made.text("other")


def test_the_single_stream_options():
    with pytest.raises(RuntimeError, match="single-stream"):
        program(SEED_EXAMPLE, single_stream=True)
    made = program(SEED_EXAMPLE, multi_stream=False)
    assert "wait e" not in made.text("schedule")


def test_a_written_input_that_overlaps_another_runs_in_program_order():
    # captured with three inputs of their own; called with views of one buffer
    made = program(f"""
        %x = input : f32[4] @b0
        %y = input : f32[4] @b1
        %w = aten.add_.Scalar(%x, 1) {label("1")} writes(%x) : f32[4] @b0
        %z = aten.mul.Scalar(%y, 2) {label("2")} : f32[4] @b2
        return %z
        """)
    apart = torch.zeros(8)
    (out,), _ = made.run([apart[:4], apart[4:]], [])
    assert same(out, torch.zeros(4)) and made.diagnostics() == []
    base = torch.zeros(6)
    for _ in range(3):
        expected = base[2:].clone()
        expected[:2] += 1
        (out,), _ = made.run([base[:4], base[2:]], [])
        assert same(out, expected * 2)
    assert sum("overlapping-inputs" in text for text in made.diagnostics()) == 1


def test_written_inputs_get_a_new_version():
    x = torch.zeros(4)
    version = x._version
    run("""
        %x = input : f32[4] @b0
        %w = aten.add_.Scalar(%x, 1) writes(%x) : f32[4] @b0
        return
        """, x)
    assert x._version == version + 1


class Names(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.seen.append(str(function))
        return function(*args, **(kwargs or {}))


VIEWED = f"""
    %a = input : f32[3,4] @b0
    %t = view aten.t.default(%a) : f32[4,3](1,4) @b0
    %n = aten.neg.default(%t) {label("1")} : f32[4,3](1,4) @b1
    %w = aten.add_.Scalar(%n, 1) {label("2")} writes(%n) : f32[4,3](1,4) @b1
    %v = view aten.select.int(%w, 0, 0) : f32[3](4) @b1
    return %w, %v
    """


def test_a_dispatch_mode_sees_the_operators_in_program_order():
    made = program(VIEWED)
    with Names() as mode:
        (w, v), _ = made.run([A], [])
    assert mode.seen == ["aten.t.default", "aten.neg.default", "aten.add_.Scalar", "aten.select.int"]
    assert same(w, 1 - A.t()) and same(v, w[0])
    assert any("watched-call" in text for text in made.diagnostics())
    (w, v), _ = made.run([A], [])
    assert same(w, 1 - A.t()) and same(v, w[0])


class Tagged(torch.Tensor):
    """A subclass that wraps what operators return."""

    @staticmethod
    def __new__(cls, inner):
        made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype,
                                                   strides=inner.stride())
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        unwrap = lambda x: x.inner if isinstance(x, Tagged) else x  # noqa: E731
        return Tagged(function(*[unwrap(x) for x in args], **(kwargs or {})))


def test_a_tensor_subclass_goes_through_its_own_dispatch():
    (w, v), _ = program(VIEWED).run([Tagged(A.clone())], [])
    assert isinstance(w, Tagged) and isinstance(v, Tagged)
    assert same(w.inner, 1 - A.t()) and same(v.inner, (1 - A.t())[0])


def test_autocast_is_not_applied_again():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        (out,) = run(f"""
            %a = input : f32[3,4] @b0
            %t = view aten.t.default(%a) : f32[4,3](1,4) @b0
            %m = aten.mm.default(%a, %t) {label("1")} : f32[3,3] @b1
            return %m
            """, A)
    assert same(out, A @ A.t())


def test_threads_of_the_caller():
    # a full reduction gives eager's bits for the caller's number of threads, on every stream
    x = torch.randn(1 << 18)
    made = program(f"""
        %x = input : f32[262144] @b0
        %s = aten.sum.default(%x) {label("1")} : f32[] @b1
        %m = aten.mean.default(%x) : f32[] @b2
        return %s, %m
        """)
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 1):
            torch.set_num_threads(threads)
            (s, m), _ = made.run([x], [])
            assert same(s, x.sum()) and same(m, x.mean())
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
