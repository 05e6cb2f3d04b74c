"""Situations that broke other multi-stream systems: orders between operators (cases 04 05 07 09 17
18 22 25). Each runs also with random delays."""

import threading

import pytest
import torch
from support import check_equal, compile_graph, equal, slow

import anabranch
from anabranch import stream as S
from anabranch import wait as W

# Every situation here is one graph of small operators, called several times: what can go wrong
# depends on which operator happens to be late.


def original(programs):
    return {s.name: s for s in programs[-1].original()}


def test_a_wait_without_a_data_edge_stays_where_it_is(programs, adversary):
    """main: slow product; side: add that must come after it although it does not read it."""
    def f(x, y):
        product = slow(x) * 2
        with S("s"):
            later = W(y, product) + 1
        return product, later

    check_equal(f, torch.ones(4), torch.full((4,), 5.0), calls=4)
    wait, = [s for s in programs[-1].original() if s.op == "wait"]
    assert wait.after == ["mul_1"] and wait.label == "s"
    assert wait.name in programs[-1].original()[-1].operands


def test_waits_as_statements_order_every_later_use(programs, adversary):
    """s → wait@1 → p@1, q@main; p → wait@2 → t@2."""
    def f(a, b, c, d):
        s = slow(a) + b
        with S("1"):
            W(d, s)
            p = c @ d
        q = c @ d
        with S("2"):
            W(d, p)
            t = c + d
        return s, p, q, t

    inputs = [torch.full((2, 2), float(v)) for v in (1, 2, 3, 4)]
    check_equal(f, *inputs, calls=4)
    first, second = [s for s in programs[-1].original() if s.op == "wait"]
    assert (first.after, second.operands) == (["add_1"], [first.name])
    products = [s for s in programs[-1].original() if s.op == "aten.mm.default"
                and "c" not in s.name][-2:]
    assert all(first.name in s.operands for s in products)
    assert second.after == [products[0].name]


def test_after_a_break_in_a_scope_the_next_graph_has_no_label(programs):
    def f(x):
        with S("a"):
            y = x + 1
            torch._dynamo.graph_break()
            return y * 2

    for fullgraph in (True, False):
        with pytest.raises(RuntimeError):
            compile_graph(f, fullgraph=fullgraph)(torch.ones(4))
    check_equal(lambda x: x + 1, torch.ones(4))
    assert programs[-1].labels() == [("aten.add.Tensor", None)]


def test_leaving_an_inner_scope_restores_the_outer_one(programs, adversary):
    def f(x):
        with S("a", 5):
            p = x + 1
            with S("b", 1, False):
                q = p * 2
                with S("a", 5):
                    r = q - 3
            s = r * 5
        t = s + 7
        again = S("a")
        with again:
            with again:
                u = t + 1
            v = u + 1
        return p, q, r, s, t, u, v

    check_equal(f, torch.ones(2))
    lines = [s for s in programs[-1].captured() if s.op.startswith("aten")]
    assert [s.label for s in lines] == ["a", "b", "a", "a", None, "a", "a"]
    assert '"_user_stream_priority": "1"' in lines[1].line
    assert '"_enable_inner_parallel": false' in lines[1].line
    assert '"_user_stream_priority": "5"' in lines[3].line


def test_equal_operators_on_two_streams_stay_two(programs, adversary):
    def f(x, w):
        with S("a"):
            p = x @ w
        with S("b"):
            q = x @ w
        return p, q

    compiled = check_equal(f, torch.ones(4, 4), torch.ones(4, 4))
    assert programs[-1].labels() == [("aten.mm.default", "a"), ("aten.mm.default", "b")]
    p, q = compiled(torch.ones(4, 4), torch.ones(4, 4))
    p.add_(1)  # the caller changes one result
    assert (q == 4).all() and (p == 5).all()


def test_dead_code_and_empty_scopes_leave_nothing(programs, adversary):
    def f(x):
        with S("dead"):
            W(x, slow(x) @ x.t())
        with S("empty"):
            pass
        with S("outer"):
            with S("inner"):
                pass
            return x + 1

    check_equal(f, torch.ones(3, 3))
    used = [s for s in programs[-1].captured() if s.label]
    assert {s.label for s in used} <= {"dead", "outer"}
    report = programs[-1].program.compiled.report()
    assert '"empty"' not in report and '"inner"' not in report


def test_a_dead_branch_has_no_stream(programs):
    def f(x):
        with S("dead"):
            _ = slow(x) @ x.t()
        with S("live"):
            return x + 1

    check_equal(f, torch.ones(3, 3))
    assert '"dead"' not in programs[-1].text
    assert '"dead"' not in programs[-1].program.compiled.report()


def test_more_tags_than_workers_in_a_chain_of_waits(programs, adversary):
    """t0 → t1 → … → t59, each on its own tag: no deadlock, no merged tags, few threads."""
    count = 60

    def f(x):
        total, seen = x, []
        for i in range(count):
            with S(f"t{i}"):
                total = W(x, total) + i
                seen.append(total)
        return torch.stack(seen).sum(0)

    check_equal(f, torch.ones(2), calls=2)
    labels = {s.label for s in programs[-1].captured() if s.label}
    assert labels == {f"t{i}" for i in range(count)}
    from anabranch import library

    assert library.operators().worker_count() <= max(8, 2 * torch.get_num_threads()) * 2
    report = programs[-1].program.compiled.report()
    assert all(f'"t{i}"' in report for i in range(count))


def test_changing_lengths(programs, monkeypatch, adversary):
    monkeypatch.setenv("ENABLE_DYNAMIC_SHAPE_MULTI_STREAM", "1")

    def f(x):
        n = x.shape[0]
        with S("a"):
            y = slow(x) * n
        with S("b"):
            z = x.sum() + n
        return y + z

    compiled = compile_graph(f, dynamic=True)
    for n in (3, 5, 9, 4, 17, 1, 0):
        assert equal(compiled(torch.ones(n)), f(torch.ones(n))), n
    assert len(programs) <= 3
    assert all({label for _, label in p.labels()} == {"a", "b", None} for p in programs)


def test_called_from_other_threads(adversary):
    def f(x):
        with S("a"):
            y = slow(x) * 2
        with S("b"):
            z = x + 1
        return y + z

    compiled = compile_graph(f)
    compiled(torch.ones(4))
    wrong = []

    def call(value):
        for _ in range(8):
            if not (compiled(torch.full((4,), value)) == 3 * value + 1).all():
                wrong.append(value)

    threads = [threading.Thread(target=call, args=(float(v),)) for v in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong and not any(thread.is_alive() for thread in threads)


def test_a_failing_operator_keeps_its_error_and_the_next_call_works(adversary):
    def f(x, index):
        with S("a"):
            y = x.index_select(0, index)
        with S("b"):
            z = W(x, y) + 1
        return y.sum() + z.sum()

    compiled, x = compile_graph(f), torch.ones(4, 4)
    bad = torch.tensor([1, 99])
    with pytest.raises((IndexError, RuntimeError)) as eager:
        f(x, bad)
    for _ in range(3):
        with pytest.raises(type(eager.value)) as mine:
            compiled(x, bad)
        text = str(mine.value) + "".join(getattr(mine.value, "__notes__", []))
        assert str(eager.value).split("\n")[0] in text
        assert "aten.index_select.default" in text and '"a"' in text
        assert "test_cases_order.py" in text
    assert torch.equal(compiled(x, torch.tensor([1, 2])), f(x, torch.tensor([1, 2])))


def test_python_operators_keep_their_exceptions(adversary):
    class Mine(Exception):
        pass

    @torch.library.custom_op("anabranch_test::fails", mutates_args=())
    def fails(x: torch.Tensor) -> torch.Tensor:
        if x[0] < 0:
            raise Mine("negative")
        return x + 1

    fails.register_fake(torch.empty_like)

    def f(x):
        with S("side"):
            y = torch.ops.anabranch_test.fails(x)
        return y * 2

    compiled = compile_graph(f)
    assert torch.equal(compiled(torch.ones(3)), torch.full((3,), 4.0))
    with pytest.raises(Mine, match="negative") as error:
        compiled(-torch.ones(3))
    notes = "".join(getattr(error.value, "__notes__", [])) + str(error.value)
    assert '"side"' in notes and "fails" in notes
    assert torch.equal(compiled(torch.ones(3)), torch.full((3,), 4.0))


def test_public_error_type():
    assert issubclass(anabranch.ScopeBreakError, anabranch.CompileError)
