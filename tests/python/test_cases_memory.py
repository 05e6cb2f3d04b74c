"""Situations that broke other multi-stream systems: memory (cases 01 02 10 12 14 20). Values must
equal eager execution in program order, normally and with random delays."""

import pytest
import torch
from support import check_equal, compile_graph, slow

from anabranch import stream as S
from anabranch import wait as W


def test_read_on_one_stream_then_written_on_another(adversary):
    """side reads h (late) ← main overwrites h: the write waits."""
    def f(h):
        with S("alt"):
            shared = slow(h) * 3
        h.mul_(2)
        return shared + h

    check_equal(f, torch.ones(64, 64), calls=6)


def test_written_on_one_stream_then_read_on_another(adversary):
    """main overwrites h → side reads h: the read waits."""
    def f(h):
        h.mul_(2)
        with S("alt"):
            shared = slow(h) * 3
        return shared + h

    check_equal(f, torch.ones(64, 64), calls=6)


def test_written_through_a_view_and_read_through_another(adversary):
    def f(h):
        top, flat = h[:2], h.view(-1)
        with S("a"):
            top.add_(slow(torch.ones(())))
        with S("b"):
            read = flat * 2
        with S("a"):
            flat.mul_(3)
        return read, top + 0

    check_equal(f, torch.ones(4, 4), calls=6)


def test_a_write_in_a_scope_is_there_when_the_call_returns(adversary):
    def f(x, small):
        with S("s"):
            x.add_(slow(torch.ones(())))
        return small + 1

    compiled, x = compile_graph(f), torch.zeros(64, 64)
    for i in range(10):
        assert compiled(x, torch.zeros(())).item() == 1
        assert (x == i + 1).all(), "the write lags behind the call"


def test_a_buffer_that_dies_on_one_stream_while_another_reads_it(adversary):
    def f(n):
        a = torch.ones(128, 128)
        with S("second"):
            b = slow(a) + 1
        del a
        c = torch.ones(128, 128)  # the same size: tempting to reuse the block
        return b, c.add(2)

    compiled = compile_graph(f)
    for _ in range(8):
        b, c = compiled(0)
        assert (b == 2).all() and (c == 3).all()


def test_side_results_that_only_leave_through_the_return(adversary):
    def f(x):
        with S("a"):
            y = slow(x) * 2
        with S("b"):
            z = slow(x) * 3
        return y, z

    compiled = compile_graph(f)
    for i in range(8):
        y, z = compiled(torch.full((128,), float(i)))
        assert y.numpy().sum() == 256 * i and z.numpy().sum() == 384 * i


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_cache_update_on_a_side_stream(adversary, dtype):
    """Two caches on two tags; the scores on main read both."""
    def step(keys, values, new, slot, q):
        with S("k"):
            keys.index_copy_(0, slot.long(), slow(new))
        with S("v"):
            values.index_copy_(0, slot.long(), slow(new) * 2)
        return (q @ keys.t()) @ values

    compiled = compile_graph(step)
    mine = [torch.zeros(8, 4), torch.zeros(8, 4)]
    eager = [torch.zeros(8, 4), torch.zeros(8, 4)]
    for i in range(8):
        arguments = (torch.full((1, 4), float(i + 1)), torch.tensor([i], dtype=dtype),
                     torch.ones(1, 4))
        assert torch.equal(compiled(*mine, *arguments), step(*eager, *arguments)), i
        assert all(map(torch.equal, mine, eager))


def test_slices_written_on_different_streams(adversary):
    def f(cache, x):
        with S("a"):
            cache[:2] = slow(x)
        with S("b"):
            cache[2:].copy_(slow(x) * 2)
        return cache.sum(0), cache[1:3] + 0

    check_equal(f, torch.zeros(4, 4), torch.ones(2, 4), calls=4)


def test_inputs_that_overlap_only_in_this_call(adversary):
    """Compiled for separate tensors, called with a tensor and a slice of it."""
    def f(x, y):
        with S("a"):
            x.add_(slow(torch.ones(())))
        with S("b"):
            return y * 2

    compiled = compile_graph(f)
    compiled(torch.ones(4), torch.ones(2))
    t = torch.ones(4)
    assert (compiled(t, t[:2]) == 4).all() and (t == 2).all()


def test_outputs_that_alias_inputs_and_each_other(adversary):
    def f(x):
        with S("a"):
            y = x.view(2, 8)
            y.add_(1)
        z = slow(x) * 2
        return x, y, z, z.t()

    compiled, x = compile_graph(f), torch.zeros(4, 4)
    first, second, third, fourth = compiled(x)
    assert first is x or first.data_ptr() == x.data_ptr()
    assert second.data_ptr() == x.data_ptr() and second.shape == (2, 8) and (x == 1).all()
    assert third.data_ptr() == fourth.data_ptr() and (third == 2).all()


@pytest.mark.parametrize("grad", [False, True])
def test_an_output_shows_the_written_one_of_two_inputs_on_one_memory(grad):
    """y is x's transpose: a view of y that is returned is none of x."""
    def f(x, y, w):
        y[x > 3] = 0
        return y.unfold(0, 2, 1), x, w * 2

    def inputs():
        x = torch.arange(16.0).view(4, 4)
        return x, x.t(), torch.ones(2, requires_grad=grad)

    mine, eager = compile_graph(f)(*inputs()), f(*inputs())
    for got, want in zip(mine, eager, strict=True):
        assert torch.equal(got, want) and got.stride() == want.stride()


def test_a_returned_input_is_the_callers_tensor_though_inputs_share_memory():
    def f(x, y):
        y *= 2
        return y, x + 1

    x = torch.ones(4)
    y = x.view(2, 2)
    returned, more = compile_graph(f)(x, y)
    assert returned is y and (x == 2).all() and (more == 3).all()


def test_results_stay_the_callers(adversary):
    def f(x):
        with S("a"):
            return slow(x) + 1

    compiled = compile_graph(f)
    kept = [compiled(torch.full((16,), float(i))) for i in range(5)]
    assert [k[0].item() for k in kept] == [1, 2, 3, 4, 5]


def test_version_counters_of_written_inputs_grow():
    def f(x):
        with S("a"):
            x.add_(1)
        return x * 2

    compiled, x = compile_graph(f), torch.ones(4)
    before = x._version
    result = compiled(x)
    assert x._version > before and not result.is_inference()


def test_wait_for_an_operator_whose_result_is_overwritten(adversary):
    def f(x, y):
        d = slow(y) * 2
        with S("s"):
            W(x, d)
            e = x + 1
        d.zero_()
        return d, e

    check_equal(f, torch.ones(4), torch.ones(4), calls=4)
