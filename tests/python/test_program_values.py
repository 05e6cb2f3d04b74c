"""Values of small graphs, bit for bit as eager mode computes them."""

import pytest
import torch

from program_text import label, program, run, same

A = torch.arange(12, dtype=torch.float32).reshape(3, 4) / 7
B = torch.linspace(-2, 2, 12).reshape(3, 4)


def test_two_streams_and_a_keyword_argument():
    # add on stream 1, mul on stream 2, sub waits for both
    (out,) = run(f"""
        %a = input : f32[3,4] @b0
        %b = input : f32[3,4] @b1
        %s = aten.add.Tensor(%a, %b, alpha=2) {label("1")} : f32[3,4] @b2
        %m = aten.mul.Tensor(%a, %b) {label("2")} : f32[3,4] @b3
        %d = aten.sub.Tensor(%s, %m) : f32[3,4] @b4
        return %d
        """, A, B)
    assert same(out, torch.add(A, B, alpha=2) - A * B)


def test_a_view_is_a_window_on_its_operand():
    # mm(a, t(w)): t launches nothing
    w = torch.randn(5, 4)
    (out,) = run("""
        %a = input : f32[3,4] @b0
        %w = constant : f32[5,4] @b1
        %t = view aten.t.default(%w) : f32[4,5](1,4) @b1
        %m = aten.mm.default(%a, %t) : f32[3,5] @b2
        return %m
        """, A, constants=[w])
    assert same(out, A @ w.t())


def test_a_view_of_an_input_at_another_offset():
    # captured at offset 0, called with a slice that starts at element 8
    base = torch.arange(24, dtype=torch.float32)
    x = base[8:20].view(3, 4)
    (out,) = run("""
        %x = input : f32[3,4] @b0
        %row = view aten.select.int(%x, 0, 1) : f32[4]+4 @b0
        %y = aten.neg.default(%row) : f32[4] @b1
        return %y
        """, x)
    assert same(out, -x[1])


def test_an_in_place_write_is_seen_through_views():
    # row = x[1] taken before the write, read after it
    x = A.clone()
    row, out = run("""
        %x = input : f32[3,4] @b0
        %row = view aten.select.int(%x, 0, 1) : f32[4]+4 @b0
        %w = aten.add_.Scalar(%x, 1) writes(%x) : f32[3,4] @b0
        %y = aten.mul.Scalar(%row, 2) : f32[4] @b1
        return %row, %y
        """, x)
    assert same(x, A + 1)
    assert same(row, x[1]) and same(out, x[1] * 2)
    assert row.data_ptr() == x[1].data_ptr()


def test_a_returned_input_is_the_same_object_and_a_view_is_not():
    x = A.clone()
    same_object, view, view_again = run("""
        %x = input : f32[3,4] @b0
        %w = aten.add_.Scalar(%x, 1) writes(%x) : f32[3,4] @b0
        %v = view aten.alias.default(%x) : f32[3,4] @b0
        return %w, %v, %v
        """, x)
    assert same_object is x
    assert view is not x and view is view_again and view.data_ptr() == x.data_ptr()
    version = view._version
    x.add_(1)
    assert view._version == version + 1  # they share the version counter, as in eager mode


def test_out_variant_writes_its_operand():
    out = torch.empty(3, 4)
    (result,) = run("""
        %a = input : f32[3,4] @b0
        %o = input : f32[3,4] @b1
        %r = aten.add.out(%a, %a, out=%o) writes(%o) : f32[3,4] @b1
        return %r
        """, A, out)
    assert result is out and same(out, A + A)


def test_lists_of_tensors():
    # cat([a, b, a], 1)
    (out,) = run("""
        %a = input : f32[3,4] @b0
        %b = input : f32[3,4] @b1
        %c = aten.cat.default([%a, %b, %a], 1) : f32[3,12] @b2
        return %c
        """, A, B)
    assert same(out, torch.cat([A, B, A], 1))


def test_optional_tensors_in_a_list():
    # x[:, i]
    i = torch.tensor([3, 0])
    (out,) = run("""
        %x = input : f32[3,4] @b0
        %i = input : i64[2] @b1
        %y = aten.index.Tensor(%x, [none, %i]) : f32[3,2] @b2
        return %y
        """, A, i)
    assert same(out, A[:, i])


def test_several_results():
    values, indices = run("""
        %a = input : f32[3,4] @b0
        %v, %i = aten.max.dim(%a, 1) : f32[3] @b1, i64[3] @b2
        return %v, %i
        """, B)
    assert same(values, B.max(1).values) and same(indices, B.max(1).indices)


def test_a_list_result_of_views():
    # split(x, 2, 1)[1] * 2
    (out,) = run("""
        %x = input : f32[3,4] @b0
        %l, %r = view aten.split.Tensor(%x, 2, 1) : f32[3,2](4,1) @b0, f32[3,2](4,1)+2 @b0
        %y = aten.mul.Scalar(%r, 2.5) : f32[3,2](4,1) @b1
        return %y
        """, A)
    assert same(out, A.split(2, 1)[1] * 2.5)


def test_a_list_result_in_new_memory():
    # split_copy gives tensors of their own
    left, right = run("""
        %x = input : f32[3,4] @b0
        %l, %r = aten.split_copy.Tensor(%x, 2, 1) : f32[3,2] @b1, f32[3,2] @b2
        return %l, %r
        """, A)
    assert same(left, A[:, :2]) and same(right, A[:, 2:])


def test_a_view_as_another_dtype():
    # the low bytes of int32 values, from element 1 on
    x = torch.tensor([1, 258, 3], dtype=torch.int32)
    (out,) = run("""
        %x = input : i32[3] @b0
        %tail = view aten.slice.Tensor(%x, 0, 1) : i32[2]+1 @b0
        %bytes = view aten.view.dtype(%tail, dtype(u8)) : u8[8]+4 @b0
        %y = aten.add.Tensor(%bytes, 1) : u8[8] @b1
        return %y
        """, x)
    assert same(out, x[1:].view(torch.uint8) + 1)


def test_lazy_conjugation():
    x = torch.randn(4, dtype=torch.complex64)
    view, out = run("""
        %x = input : c64[4] @b0
        %c = view aten._conj.default(%x) : c64[4] @b0 conj
        %y = aten.mul.Tensor(%c, %x) : c64[4] @b1
        return %c, %y
        """, x)
    assert view.is_conj() and same(view, x.conj()) and same(out, x.conj() * x)


@pytest.mark.parametrize("literal, expected", [
    ("aten.add.Tensor(%a, 2)", A + 2),
    ("aten.add.Tensor(%a, 2.5)", A + 2.5),
    ("aten.mul.Scalar(%a, 3)", A * 3),
    ("aten.sum.dim_IntList(%a, [1], true)", A.sum(1, keepdim=True)),
    ("aten.sum.dim_IntList(%a, 1, keepdim=true, dtype=dtype(f64))",
     A.sum(1, keepdim=True, dtype=torch.float64)),
    ("aten.clamp.default(%a, none, 1)", A.clamp(max=1)),
    ("aten.full.default([3,1], 7, dtype=dtype(i64), layout=layout(\"strided\"), device=device(\"cpu\"), "
     "pin_memory=false)", torch.full((3, 1), 7)),
    ("aten.clone.default(%a, memory_format=memory_format(\"contiguous_format\"))", A.clone()),
    ("aten.gelu.default(%a, approximate=\"tanh\")", torch.nn.functional.gelu(A, approximate="tanh")),
    ("aten.constant_pad_nd.default(%a, [1, 0], inf)",
     torch.nn.functional.pad(A, [1, 0], value=float("inf"))),
    ("aten.mul.Tensor(%a, complex(0.0, 1.0))", A * 1j),
    ("aten.logical_not.default(%a)", A.logical_not()),
])
def test_literal_arguments(literal, expected):
    names = {torch.float32: "f32", torch.float64: "f64", torch.int64: "i64", torch.bool: "bool",
             torch.complex64: "c64"}
    sizes = ",".join(str(size) for size in expected.shape)
    (out,) = run(f"""
        %a = input : f32[3,4] @b0
        %y = {literal} : {names[expected.dtype]}[{sizes}] @b1
        return %y
        """, A)
    assert same(out, expected)


def test_random_operators_draw_in_program_order():
    # three draws on three streams: the numbers are eager's for the same seed
    statements = f"""
        %a = aten.rand.default([4, 4]) {label("1")} effects(random "cpu") : f32[4,4] @b0
        %b = aten.randn.default([8]) {label("2")} effects(random "cpu") : f32[8] @b1
        %c = aten.rand.default([4]) effects(random "cpu") : f32[4] @b2
        return %a, %b, %c
        """
    made = program(statements)
    torch.manual_seed(3)
    expected = [(torch.rand(4, 4), torch.randn(8), torch.rand(4)) for _ in range(5)]
    state = torch.get_rng_state()
    torch.manual_seed(3)
    for wanted in expected:
        outputs, _ = made.run([], [])
        assert all(same(out, want) for out, want in zip(outputs, wanted))
    assert torch.equal(torch.get_rng_state(), state)


def test_sizes_of_the_call():
    # one program for every s0: expressions in literals, in result types and as outputs
    made = program("""
        %s0 = input : int(s0)
        %x = input : f32[s0,4] @b0
        %n = size : int((s0*2))
        %z = aten.zeros.default([%n, 4], device=device("cpu")) : f32[(s0*2),4] @b1
        %top = view aten.slice.Tensor(%z, 0, 0, %s0) : f32[s0,4] @b1
        %bottom = view aten.slice.Tensor(%z, 0, %s0, {s0*2}) : f32[s0,4]+(s0*4) @b1
        %t = aten.copy_.default(%top, %x) writes(%top) : f32[s0,4] @b1
        %b = aten.add_.Tensor(%bottom, %n) writes(%bottom) : f32[s0,4]+(s0*4) @b1
        %y = aten.mul.Scalar(%z, %s0) : f32[(s0*2),4] @b2
        return %z, %y, %n, {s0+1}, none
        """)
    for size in (2, 5, 3):
        x = torch.randn(size, 4)
        (z, y), integers = made.run([x], [size])
        assert same(z, torch.cat([x, torch.full((size, 4), 2.0 * size)]))
        assert same(y, z * size)
        assert integers == [2 * size, size + 1]


def test_a_symbol_that_no_integer_gives_is_read_off_a_tensor():
    made = program("""
        %x = input : f32[s0,s1] @b0
        %y = view aten.view.default(%x, [{s0*s1}]) : f32[(s0*s1)] @b0
        return %y
        """)
    (out,), _ = made.run([A], [])
    assert same(out, A.reshape(-1))


def test_metadata_changes_in_place():
    # t_ on an intermediate, read before and after
    before, after = run("""
        %a = input : f32[3,4] @b0
        %c = aten.clone.default(%a) : f32[3,4] @b1
        %n = aten.neg.default(%c) : f32[3,4] @b2
        %t = aten.t_.default(%c) writes(%c) : f32[4,3](1,4) @b1
        %m = aten.mm.default(%a, %t) : f32[3,3] @b3
        return %n, %m
        """, A)
    assert same(before, -A) and same(after, A @ A.t())


def test_results_whose_real_strides_are_not_the_captured_ones():
    # an operator that returns transposed memory although its fake kept row-major strides
    library = torch.library.Library("abtest_strides", "DEF")  # noqa: TOR901 (lives with the test)
    library.define("flip(Tensor x) -> Tensor")
    library.impl("flip", lambda x: x.t().contiguous().t(), "CPU")
    (out,) = run("""
        %a = input : f32[3,4] @b0
        %f = abtest_strides.flip.default(%a) : f32[3,4] @b1
        %row = view aten.select.int(%f, 0, 2) : f32[4]+8 @b1
        %y = aten.neg.default(%row) : f32[4] @b2
        return %y
        """, A)
    assert same(out, -A[2])


def test_inputs_that_shared_memory_when_captured_need_not_share_it_later():
    made = program("""
        %x = input : f32[4] @b0
        %tail = input : f32[2]+2 @b0
        %w = aten.add_.Scalar(%x, 1) writes(%x) : f32[4] @b0
        %y = aten.mul.Scalar(%tail, 2) : f32[2] @b1
        return %y
        """)
    x = torch.arange(4.0)
    (out,), _ = made.run([x, x[2:]], [])
    assert same(out, torch.tensor([6.0, 8.0]))
    (out,), _ = made.run([torch.zeros(4), torch.ones(2)], [])
    assert same(out, torch.tensor([2.0, 2.0]))
    assert made.diagnostics() == []


def test_a_constant_that_is_written_keeps_what_was_written():
    state = torch.zeros(3)
    made = program("""
        %c = constant : f32[3] @b0
        %w = aten.add_.Scalar(%c, 1) writes(%c) : f32[3] @b0
        return
        """, [state])
    version = state._version
    made.run([], [])
    made.run([], [])
    assert same(state, torch.full((3,), 2.0)) and state._version == version + 2
