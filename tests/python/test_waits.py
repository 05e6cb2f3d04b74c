"""npu_wait_tensor: after the call every later use of the tensor reads the Identity."""

import pytest
import torch
from support import check_equal, compile_graph, slow

import anabranch
from anabranch import stream as S
from anabranch import torchair
from anabranch import wait as W

A, B, C, D = (torch.full((4, 4), float(v)) for v in (1, 2, 3, 4))


def waits_of(programs):
    return [s for s in programs[-1].original() if s.op == "wait"]


def test_seed_example(programs, adversary):
    def f(in1, in2, in3, in4):
        added = torch.add(in1, in2)
        with S("1"):
            W(in4, added)
            product = torch.mm(in3, in4)
        main = torch.mm(in3, in4)
        with S("2"):
            W(in4, product)
            last = torch.add(in3, in4)
        return added, product, main, last

    check_equal(f, A, B, C, D, calls=5)
    first, second = waits_of(programs)
    assert (first.label, first.after) == ("1", ["add"])
    assert (second.label, second.after) == ("2", ["mm"])
    assert second.operands == [first.name]  # waits on one tensor chain
    assert [s.label for s in programs[-1].original() if s.op == "aten.mm.default"] == ["1", None]
    for s in programs[-1].original():
        if s.op == "aten.mm.default":
            assert first.name in s.operands  # the later use outside every scope waits too


def test_the_result_is_self():
    def f(x, y):
        assert W(x, y) is x
        return W(x, y) + 1

    check_equal(f, A, B)


@pytest.mark.parametrize("use", [
    lambda x: torch.cat([x, x]),
    lambda x: torch.stack(list({"k": x}.values())),
    lambda x: x.view(-1) + 1,
    lambda x: x.t().mm(x),
    lambda x: torch.add(x, 1, out=torch.empty(4, 4)),
])
def test_later_uses_in_many_forms(programs, adversary, use):
    def f(x, y):
        d = slow(y) * 2
        with S("s"):
            W(x, d)
        return use(x), d

    check_equal(f, A, B)
    wait, = waits_of(programs)
    assert wait.label == "s" and wait.after == ["mul_1"]


def test_chain_and_self_wait(programs):
    def f(x, y):
        W(x, y + 1)
        W(x, y * 2)
        W(x, x)
        return x - 1

    check_equal(f, A, B)
    first, second, third = waits_of(programs)
    assert second.operands == [first.name] and third.operands == [second.name]


def test_a_wait_with_no_later_use_vanishes(programs):
    def f(x, y):
        z = x + 1
        W(x, y * 2)
        return z, y * 2

    check_equal(f, A, B)
    assert waits_of(programs) == []


def test_earlier_uses_and_views_do_not_wait_and_later_views_do(programs):
    def f(x, y):
        before = x.t()
        a = x + 1
        W(x, y * 2)
        later = x.t()
        return a, before + 1, later + 2

    check_equal(f, A, B)
    wait, = waits_of(programs)
    early, late = [s for s in programs[-1].original() if s.view]
    assert wait.name not in early.operands and wait.name in late.operands


def test_wait_on_an_intermediate_and_on_a_view(programs):
    def f(x, y):
        h = x * 3
        v = y.t()
        d = x @ y
        with S("a"):
            W(h, d)
            p = h + 1
        with S("b"):
            W(v, p)
            v.add_(1)
        return p, v, y

    check_equal(f, A, B)
    first, second = waits_of(programs)
    assert first.after == ["mm"] and second.after == ["add"]


def test_in_place_results_and_out_are_the_same_object(programs, adversary):
    def f(x, y):
        d = slow(y)
        W(x, d)
        z = x.add_(1)
        with S("w"):
            u = z * 2
        o = torch.empty(4, 4)
        r = torch.mul(x, 2, out=o)
        W(o, u)
        return u, r + 1, o + 2

    check_equal(f, A, B, calls=3)


def test_wait_then_mutate_twice_and_dependency_mutated_after(adversary):
    def f(x, y):
        d = y * 2
        with S("s"):
            W(x, d)
            x.mul_(2)
        d.add_(1)
        x.add_(d)
        return x + 0, d

    check_equal(f, A, B, calls=3)


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode", "grad"])
def test_wait_on_a_parameter(programs, mode):
    linear = torch.nn.Linear(4, 4)

    def f(x, y):
        d = y * 2
        with S("s"):
            W(linear.weight, d)
            return linear(x), d

    context = {"no_grad": torch.no_grad, "inference_mode": torch.inference_mode,
               "grad": torch.enable_grad}[mode]
    with context():
        mine, eager = compile_graph(f)(A, B), f(A, B)
    assert torch.equal(mine[0], eager[0])
    wait, = waits_of(programs[:1])
    assert wait.label == "s" and wait.after == ["mul"]


def test_tied_and_duplicate_arguments_are_one_object(programs):
    def f(x, y, d):
        W(x, d * 2)
        return y + 1

    compiled = compile_graph(f)
    assert torch.equal(compiled(A, A, B), A + 1)
    assert len(waits_of(programs)) == 1
    compiled(A, C, B)
    assert waits_of(programs) == []


def test_record_and_wait(programs, adversary):
    def f(x, y):
        with S("a"):
            p = slow(x) * 2
            mark = torchair.ops.record()
            q = x - 1
        with S("b"):
            torchair.ops.wait([mark])
            r = y + 1
            s = y + 2
        return p, q, r, s

    check_equal(f, A, B)
    wait, = waits_of(programs)
    assert (wait.label, wait.after) == ("b", ["mul_1"])
    adds = {s.name: s for s in programs[-1].original() if s.op == "aten.add.Tensor"}
    assert sum(wait.name in s.operands for s in adds.values()) == 1  # the next operator only


def test_wait_takes_tensors_too_and_refuses_the_rest(programs):
    def f(x, y):
        d = x * 2
        e = x * 3
        with S("b"):
            torchair.ops.wait([d, e])
            return y + 1

    check_equal(f, A, B)
    assert [w.after for w in waits_of(programs)] == [["mul"], ["mul_1"]]
    for bad in ([], [1], None):
        with pytest.raises(ValueError, match="tensor"):
            torchair.ops.wait(bad)
        with pytest.raises(ValueError, match="tensor"):
            torch._dynamo.reset()
            compile_graph(lambda x, b=bad: (torchair.ops.wait(b), x + 1)[1])(A)


def test_tagged_events(programs):
    event = torchair.ops.npu_create_tagged_event("e")

    def f(x, y):
        with S("a"):
            p = x * 2
            torchair.ops.npu_tagged_event_record(event)
        with S("b"):
            torchair.ops.npu_tagged_event_wait(event)
            torchair.ops.npu_record_tagged_stream(y, "b")
            return p, y + 1

    check_equal(f, A, B)
    wait, = waits_of(programs)
    assert (wait.label, wait.after) == ("b", ["mul"])


def test_an_event_must_be_recorded_first():
    def f(x):
        torchair.ops.npu_tagged_event_wait("never")
        return x + 1

    with pytest.raises(anabranch.CompileError, match='"never".*before it is recorded'):
        compile_graph(f)(A)


def test_a_wait_on_what_is_no_tensor_is_a_type_error():
    with pytest.raises(TypeError, match="dependency"):
        compile_graph(lambda x: W(x, 3) + 1)(A)
    with pytest.raises(TypeError, match="self"):
        W(3, A)


def _compiled(function):
    torch._dynamo.reset()
    return torch.compile(function, backend=anabranch.backend(), fullgraph=True, dynamic=False)


def test_in_place_results_after_a_wait_are_the_user_s_own_tensor():
    def returned(x, y):
        anabranch.wait(x, y)
        return x.mul_(2)

    x = torch.ones(3)
    assert _compiled(returned)(x, x + 1) is x
    assert torch.equal(x, torch.full((3,), 2.0))


def test_in_place_changes_of_shape_after_a_wait_reach_the_tensor_itself():
    def transposed(x):
        v = x.clamp(-2, 2)
        anabranch.wait(v, x)
        v.transpose_(0, 1)
        return v

    def through_the_result(x):
        v = x.clamp(-2, 2)
        w = anabranch.wait(v, x + 1)
        w.transpose_(0, 1)
        w.add_(torch.arange(4))
        z = v * x
        w.t_()
        anabranch.wait(w, z)
        return w + x

    for function in (transposed, through_the_result):
        x = torch.randn(4, 4)
        result, expected = _compiled(function)(x.clone()), function(x.clone())
        assert torch.equal(result, expected)
        assert result.stride() == expected.stride()


@pytest.mark.parametrize("change", [
    lambda v: v.unsqueeze_(0), lambda v: v.t_(), lambda v: v.transpose_(0, 1).unsqueeze_(0),
])
def test_in_place_changes_of_shape_after_a_write_reach_the_tensor_itself(change):
    def intermediate(x):
        v = x.clone()
        v.mul_(torch.arange(4))
        change(v)
        v.add_(1)
        change(v)
        return v, v + 1

    x = torch.randn(4, 4)
    for mine, eager in zip(_compiled(intermediate)(x.clone()), intermediate(x.clone()), strict=True):
        assert mine.shape == eager.shape and mine.stride() == eager.stride()
        assert torch.equal(mine, eager)


@pytest.mark.parametrize("mode", ["max-autotune", "reduce-overhead"])
def test_waits_work_in_both_modes(programs, mode):
    def f(x, y):
        a = x * 2
        with S("1"):
            W(y, a)
            return y + 1, a

    check_equal(f, A, B, config=anabranch.CompilerConfig().copy_with({"mode": mode}))
    (wait,) = waits_of(programs)
    assert (wait.label, wait.after) == ("1", ["mul"])


@pytest.mark.parametrize("call, match", [
    (lambda x: torchair.ops.npu_tagged_event_record(3), "event"),
    (lambda x: torchair.ops.npu_tagged_event_wait(None), "event"),
    (lambda x: torchair.ops.npu_record_tagged_stream(x, 3), "tagged_stream"),
    (lambda x: torchair.ops.npu_record_tagged_stream(3, "a"), "input"),
])
def test_wrong_arguments_of_tagged_events_are_type_errors(call, match):
    def f(x):
        call(x)
        return x + 1

    for run in (f, compile_graph(f)):
        with pytest.raises(TypeError, match=match):
            run(A)


def test_dynamo_traces_a_wait_without_inlining_it(monkeypatch):
    from torch._dynamo.symbolic_convert import InstructionTranslatorBase as Translator

    inlined, original = [], Translator.inline_user_function_return

    def note(self, function, *arguments, **keywords):
        inlined.append(function.get_name())
        return original(self, function, *arguments, **keywords)

    monkeypatch.setattr(Translator, "inline_user_function_return", note)

    def own(x):
        return x + 1

    def f(x):
        return anabranch.wait(x, own(x)) * 2

    assert compile_graph(f)(torch.ones(2)).tolist() == [2, 2]
    assert inlined == ["own"]
