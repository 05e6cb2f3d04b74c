"""What two processes of one gloo group do for test_collectives.py: `two_ranks.py STORE RANK`.

Runs every case in turn and prints one JSON object: {case: "" or what went wrong}.
"""

import datetime
import json
import os
import sys
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "python"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torch.distributed._functional_collectives as fc  # noqa: E402
from support import compile_graph, equal, slow  # noqa: E402
from torch.distributed import all_reduce as bare_all_reduce  # noqa: E402

from anabranch import library  # noqa: E402
from anabranch import stream as S  # noqa: E402
from anabranch.errors import CompileError  # noqa: E402

RANK = int(sys.argv[2])


def world():
    return dist.group.WORLD


def mine(*shape):
    """A tensor that differs between the ranks."""
    return torch.arange(float(torch.Size(shape).numel())).reshape(shape) * (1 + RANK) + RANK


def check(function, *inputs, calls=3):
    """Equal to eager, with written arguments, normally and with delays that differ by rank."""
    compiled = compile_graph(function)
    for seed in (-1, 5 + 7 * RANK):
        library.operators().set_adversary(seed)
        for _ in range(calls):
            here, there = [x.clone() for x in inputs], [x.clone() for x in inputs]
            result, expected = compiled(*here), function(*there)
            assert equal(result, expected), (result, expected)
            assert equal(here, there), "a written argument differs"
    library.operators().set_adversary(-1)


def all_reduce_beside_compute():
    def f(x, w):
        with S("comm"):
            total = fc.all_reduce(x @ w, "sum", world())
        with S("side"):
            side = torch.relu(w @ w)
        return total @ side

    check(f, mine(4, 4), mine(4, 4) / 8)


def in_place_forms():
    def f(x, y, out, part, swapped):
        with S("comm"):
            dist.all_reduce(x)
            dist.all_gather_into_tensor(out, y)
        with S("other"):
            dist.reduce_scatter_tensor(part, x)
            dist.all_to_all_single(swapped, y)
        return x + 1, out * 2, part - 1

    check(f, mine(4, 4), mine(2, 4), torch.zeros(4, 4), torch.zeros(2, 4), torch.zeros(2, 4))


def functional_and_coalesced_forms():
    def f(x, y):
        with S("a"):
            sums = fc.all_reduce_coalesced([x, y], "sum", world())
        with S("b"):
            gathered = fc.all_gather_into_tensor_coalesced([x, y], world())
        with S("c"):
            parts = fc.reduce_scatter_tensor_coalesced([x, y], "sum", [0, 0], world())
        with S("d"):
            swapped = fc.all_to_all_single(x, [2, 2], [2, 2], world())
            sent = fc.broadcast(y, 0, world())
        return [*map(torch.neg, (*sums, *gathered, *parts, swapped, sent))]

    check(f, mine(4, 3), mine(2, 5))


def an_inner_stream_for_the_collectives_of_a_label():
    # the product of the same label may run beside them; they keep their order with "other"
    def f(x, w):
        with S("1"):
            total = fc.all_reduce(x * 2, "sum", world())
            side = torch.relu(w @ w)
            last = fc.all_reduce(side, "max", world())
        with S("1_comm"):
            other = fc.all_gather_tensor(w, 0, world())
        with S("2", enable_inner_parallel=False):
            strict = fc.all_reduce(w, "sum", world()) + w @ w
        return total + side, last, other * 2, strict

    check(f, mine(4, 4), mine(4, 4) / 8)


def one_order_whatever_the_labels():
    # the first collective is held up on one rank only, and the second is ready at once
    def f(x, y):
        with S("late"):
            first = fc.all_reduce(slow(x, 40) if RANK == 0 else x, "sum", world())
        with S("early"):
            second = fc.all_gather_single(y, 0, world())
        with S("last"):
            third = fc.all_reduce(y * 2, "max", world())
        return first + 1, second + 1, third + 1

    check(f, mine(3), mine(3, 2), calls=5)


def the_operand_may_change_after_the_wait():
    # other threads read x until the collective ends: the write on "writer" comes after that
    def f(x):
        with S("comm"):
            gathered = fc.all_gather_single(x, 0, world())
            gathered = fc.wait_tensor(gathered)
        with S("writer"):
            x.fill_(-1)
        return gathered + 0

    compiled = compile_graph(f)
    for _ in range(5):
        x = mine(512, 512)
        (result,), expected = [compiled(x)], torch.cat([mine(512, 512) * 0 + 0] * 2)
        a = torch.arange(512.0 * 512).reshape(512, 512)
        expected = torch.cat([a, a * 2 + 1])
        assert torch.equal(result, expected) and (x == -1).all()


def a_group_of_its_own():
    group = dist.new_group([0, 1], timeout=datetime.timedelta(seconds=30))

    def f(x):
        with S("1"):
            one = fc.all_reduce(x, "sum", group)
        with S("2"):
            two = fc.all_reduce(x, "max", world())
        return one + two

    check(f, mine(4))


def every_functional_form():
    group = world()
    split = [1, 3] if RANK == 0 else [3, 1]
    forms = [
        *(lambda x, op=op: fc.all_reduce(x, op, group)
          for op in ("sum", "max", "min", "avg", "product")),
        lambda x: fc.all_gather_single(x, 1, group),
        lambda x: fc.reduce_scatter_single(x, "sum", 1, group),
        lambda x: fc.all_to_all_single(x, split, split, group),
        lambda x: fc.all_to_all_single(x, None, None, group),
        lambda x: fc.broadcast(x, 1, group),
        lambda x: fc.permute_tensor(x.reshape(-1), [1, 0], group),
        lambda x: fc.all_reduce(x.t(), "sum", group),
        lambda x: fc.reduce_scatter_single(x.t(), "sum", 0, group),
        lambda x: fc.all_reduce(x.long(), "sum", group),
        lambda x: fc.all_reduce(x.bfloat16(), "sum", group),
    ]
    for number, form in enumerate(forms):
        torch._dynamo.reset()

        def f(x, form=form):
            with S("comm"):
                result = form(x)
            with S("next"):
                return result + 1, x * number

        check(f, mine(4, 6), calls=1)


def every_form_that_dynamo_rewrites():
    def listed(x):
        parts = [torch.empty_like(x) for _ in range(2)]
        with S("comm"):
            dist.all_gather(parts, x)
        return parts[0] - parts[1]

    def with_keywords(x):
        with S("comm"):
            dist.all_reduce(x, op=dist.ReduceOp.MAX, group=world())
        return x + 1

    def coalesced(x):
        y = x * 2
        with S("comm"), dist._coalescing_manager():
            dist.all_reduce(x)
            dist.all_reduce(y)
        return x + y

    for f in (listed, with_keywords, coalesced):
        torch._dynamo.reset()
        check(f, mine(4), calls=2)


def sizes_that_change():
    def f(x):
        with S("comm"):
            gathered = fc.all_gather_single(x, 0, world())
        return gathered * 2

    compiled = compile_graph(f, dynamic=True)
    for rows in (5, 3, 8):
        assert equal(compiled(mine(rows, 2)), f(mine(rows, 2)))


def gradients():
    def f(x, w):
        with S("comm"):
            total = fc.all_reduce(x @ w, "sum", world())
            gathered = fc.all_gather_single_autograd(total * total, 0, world())
            parts = fc.reduce_scatter_single_autograd(gathered, "sum", 0, world())
            swapped = fc.all_to_all_single_autograd(parts, [2, 2], [2, 2], world())
        return (swapped * swapped).sum()

    grads = []
    for function in (f, compile_graph(f)):
        w = (mine(4, 4) / 16).requires_grad_()
        function(mine(4, 4) / 16, w).backward()
        grads.append(w.grad)
    assert torch.equal(*grads), grads


def groups_in_opposite_orders():
    # each group has its own order: rank 0 starts the second group's first
    first, second = (dist.new_group([0, 1], timeout=datetime.timedelta(seconds=30)) for _ in "12")

    def f(x):
        def on(label, group):
            with S(label):
                return fc.all_reduce(x, "sum", group)

        if RANK == 0:
            one, two = on("1", first), on("2", second)
        else:
            two, one = on("2", second), on("1", first)
        return one + 1, two * 2

    check(f, mine(4), calls=5)


def _calls_that_dynamo_refuses():
    empty, other = torch.zeros, 1 - RANK

    def p2p(x):
        return dist.batch_isend_irecv([dist.P2POp(dist.isend, x, other)])

    yield "all_reduce", "all_reduce", lambda x: dist.all_reduce(x, async_op=True)
    yield "all_reduce", "all_reduce", lambda x: bare_all_reduce(x, async_op=True)
    yield ("all_gather_into_tensor", "all_gather_single",
           lambda x: dist.all_gather_into_tensor(empty(4), x, async_op=True))
    yield "reduce_scatter", "reduce_scatter_single", lambda x: dist.reduce_scatter(x, [x, x])
    yield "all_to_all", "all_to_all_single", lambda x: dist.all_to_all([x, x], [x, x])
    yield "broadcast", "broadcast", lambda x: dist.broadcast(x, 0)
    yield "reduce", "all_reduce", lambda x: dist.reduce(x, 0)
    yield "gather", "all_gather_single", lambda x: dist.gather(x, [x, x] if RANK == 0 else None)
    yield "scatter", "broadcast", lambda x: dist.scatter(x, [x, x] if RANK == 0 else None)
    yield "barrier", "all_reduce", lambda x: dist.barrier()
    yield "all_gather_object", "all_gather_single", lambda x: dist.all_gather_object([1, 2], 3)
    yield "send", "permute_tensor", lambda x: dist.send(x, other)
    yield "recv", "permute_tensor", lambda x: dist.recv(x, other)
    yield "isend", "permute_tensor", lambda x: dist.isend(x, other)
    yield "irecv", "permute_tensor", lambda x: dist.irecv(x, other)
    yield "P2POp", "permute_tensor", p2p


def what_dynamo_refuses_names_the_functional_form_and_the_line():
    for name, form, call in _calls_that_dynamo_refuses():
        torch._dynamo.reset()

        def f(x, call=call):
            with S("comm"):
                call(x)
            return x + 1

        try:
            compile_graph(f)(mine(2))
        except Exception as problem:
            text = str(problem)
            assert f"write torch.distributed._functional_collectives.{form}:" in text, text
            assert f"instead of {name} at {__file__}:" in text, text
        else:
            raise AssertionError(f"{name}: no error")


def a_refused_collective_inside_a_scope_is_an_error_without_fullgraph():
    def f(x):
        with S("comm"):
            dist.broadcast(x, 0)
        return x + 1

    try:
        compile_graph(f, fullgraph=False)(mine(2))
    except CompileError as problem:
        text = str(problem)
        assert "graph break inside" in text and "_functional_collectives.broadcast" in text, text
    else:
        raise AssertionError("no error")


def an_operator_that_fails_beside_a_collective():
    def f(x, index):
        with S("comm"):
            total = fc.all_reduce(x * 2, "sum", world())
        with S("side"):
            side = x[index]
        return total + 1, side

    compiled = compile_graph(f)
    good, bad = torch.tensor([1]), torch.tensor([99])
    assert equal(compiled(mine(4, 4), good), f(mine(4, 4), good))
    if RANK == 0:
        try:
            compiled(mine(4, 4), bad)
        except IndexError as problem:
            assert 'stream "side"' in str(problem), problem
        else:
            raise AssertionError("no error")
    else:
        compiled(mine(4, 4), good)
    for _ in range(3):  # both ranks started as many collectives: the group goes on
        assert equal(compiled(mine(4, 4), good), f(mine(4, 4), good))


def a_rank_that_does_not_take_part_is_an_error_on_the_other():
    group = dist.new_group([0, 1], timeout=datetime.timedelta(seconds=3))

    def f(x):
        with S("comm"):
            total = fc.all_reduce(x * 2, "sum", group)
        with S("side"):
            side = x @ x
        return total, side

    compiled = compile_graph(f)
    x = mine(4, 4)
    assert equal(compiled(x), f(x))
    if RANK == 1:
        time.sleep(8)  # outlives the other rank's limit, then leaves with it
        return
    begin = time.monotonic()
    try:
        compiled(x)
    except RuntimeError as problem:
        assert "_c10d_functional" in str(problem) and 'stream "comm"' in str(problem), problem
    else:
        raise AssertionError("no error")
    assert time.monotonic() - begin < 30
    assert torch.equal(compile_graph(lambda x: x + 1)(x), x + 1)  # the process goes on


def after_the_other_rank_has_died():
    def f(x):
        with S("comm"):
            total = fc.all_reduce(x * 2, "sum", world())
        with S("side"):
            side = x @ x
        return total, side

    x = mine(4, 4)
    compiled = compile_graph(f)
    for _ in range(2):
        try:
            compiled(x)
        except RuntimeError as problem:
            assert "wait_tensor" in str(problem) and 'stream "comm"' in str(problem), problem
        else:
            raise AssertionError("no error")
    assert torch.equal(compile_graph(lambda x: x + 1)(x), x + 1)  # the process goes on


CASES = [
    all_reduce_beside_compute,
    in_place_forms,
    functional_and_coalesced_forms,
    every_functional_form,
    every_form_that_dynamo_rewrites,
    sizes_that_change,
    gradients,
    an_inner_stream_for_the_collectives_of_a_label,
    one_order_whatever_the_labels,
    the_operand_may_change_after_the_wait,
    a_group_of_its_own,
    groups_in_opposite_orders,
    what_dynamo_refuses_names_the_functional_form_and_the_line,
    a_refused_collective_inside_a_scope_is_an_error_without_fullgraph,
    an_operator_that_fails_beside_a_collective,
    a_rank_that_does_not_take_part_is_an_error_on_the_other,
]


def main():
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", init_method=f"file://{sys.argv[1]}", rank=RANK, world_size=2,
                            timeout=datetime.timedelta(seconds=60))
    found = {}
    # the last case of rank 0 begins when rank 1 has ended, or is about to
    for case in CASES + ([after_the_other_rank_has_died] if RANK == 0 else []):
        torch._dynamo.reset()
        try:
            case()
            found[case.__name__] = ""
        except Exception:
            found[case.__name__] = traceback.format_exc()
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
    os._exit(0)  # a group that timed out may not wait for its peer
