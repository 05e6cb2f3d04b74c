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

from anabranch import library  # noqa: E402
from anabranch import stream as S  # noqa: E402

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


def one_order_whatever_the_labels():
    # the first collective is held up on one rank only, and the second is ready at once
    def f(x, y):
        with S("late"):
            first = fc.all_reduce(slow(x, 40) if RANK == 0 else x, "sum", world())
        with S("early"):
            second = fc.all_gather_tensor(y, 0, world())
        with S("last"):
            third = fc.all_reduce(y * 2, "max", world())
        return first + 1, second + 1, third + 1

    check(f, mine(3), mine(3, 2), calls=5)


def the_operand_may_change_after_the_wait():
    # other threads read x until the collective ends: the write on "writer" comes after that
    def f(x):
        with S("comm"):
            gathered = fc.all_gather_tensor(x, 0, world())
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


def wrong_use_is_refused_with_the_functional_form():
    def asynchronous(x):
        with S("comm"):
            work = dist.all_reduce(x, async_op=True)
        work.wait()
        return x

    def send(x):
        dist.send(x, 1 - RANK)
        return x

    for function, name in ((asynchronous, "all_reduce"), (send, "send")):
        try:
            compile_graph(function)(mine(2))
        except Exception as problem:
            text = str(problem)
            assert "_functional_collectives" in text and name in text, text
            torch._dynamo.reset()
        else:
            raise AssertionError("no error")


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


CASES = [
    all_reduce_beside_compute,
    in_place_forms,
    functional_and_coalesced_forms,
    one_order_whatever_the_labels,
    the_operand_may_change_after_the_wait,
    a_group_of_its_own,
    wrong_use_is_refused_with_the_functional_form,
    a_rank_that_does_not_take_part_is_an_error_on_the_other,
]


def main():
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", init_method=f"file://{sys.argv[1]}", rank=RANK, world_size=2,
                            timeout=datetime.timedelta(seconds=60))
    found = {}
    for case in CASES:
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
