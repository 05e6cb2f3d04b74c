"""What random programs are made of: statements with places for operands.

`{t}` is any tensor, `{m}` a matrix, `{i}` a vector of indices, `{v}` a tensor made in the program.
A statement that eager execution refuses for the operands it got is left out, so a phrase need not
fit everything.
"""

LABELS = ["a", "b", "c", "d", "", "a b", "e", "f"]

SCOPES = [
    "C.limit_core_num(4, 8)", "C.super_kernel('k')", "C.op_never_timeout(True)", "C.data_dump()",
    "again", "S('p', -1)", "S('q', 2, False)",
]

EXPRESSIONS = [
    "{t} + {t}", "{t} * 2", "{t} - {t}", "torch.maximum({t}, {t})", "{t}.relu()", "{t}.neg()",
    "torch.where({t} > 0, {t}, {t})", "{t}.clone()", "{t}.contiguous()", "{t}.sum()", "{t}.sum(0)",
    "{t}.mean(-1, keepdim=True)", "{t}.cumsum(0)", "{t}.clamp(-2, 2)", "{t}.to(torch.float64)",
    "{t}.to(torch.int32)", "{t}.to(torch.float32)", "{t}.bool()", "{t}.abs()", "{t} > {t}",
    "torch.cat([{t}, {t}])", "torch.cat([{t}, {t}, {t}], -1)", "torch.stack([{t}, {t}])",
    "torch.mm({m}, {m}.t())", "{m} @ {m}", "torch.matmul({t}, {t})", "{t}.flip(0)",
    "torch.nn.functional.dropout({t}, 0.5)", "torch.rand_like({t})", "torch.rand(3, 4)",
    "torch.randn(4)", "torch.full((4, 3), 2.0)", "torch.zeros_like({t})", "torch.arange(4)",
    "torch.randint(0, 5, (3, 4))", "{t}[torch.tensor([0, 1])]", "{t}[:, torch.tensor([1, 0])]",
    "{t}[None, 0]", "torch.bernoulli(torch.full((3, 4), 0.5))", "torch.randperm(4)",
    "torch.multinomial(torch.full((3, 4), 0.5), 2)", "torch.randn_like({t})",
    "{t}.softmax(-1)", "{t}.repeat(2, 1)", "torch.tril({m})", "{t}.index_select(0, {i})",
    "torch.gather({m}, 0, {i}.view(1, -1))", "torch.outer({t}.flatten()[:3], {t}.flatten()[:4])",
    "torch.nn.functional.pad({t}, (1, 1))", "torch.einsum('ij,kj->ik', {m}, {m})",
    "{t}.std(unbiased=False)", "{t}.amax(0)", "{t}.to(torch.bfloat16)", "{t}.half()",
    "torch.complex({t}.float(), {t}.float())", "{t} * {t}.shape[0]", "{t}.new_ones({t}.shape)",
    "torch.addmm({m}, {m}, {m}.t())", "{t}.roll(1, 0)", "torch.layer_norm({t}, {t}.shape[-1:])",
    "torch.nn.functional.linear({t}, self.w)", "torch.empty_like({t}).fill_(1)",
    "torch.nn.functional.scaled_dot_product_attention({t}, {t}, {t})",
]
VIEWS = [
    "{t}[1:]", "{t}[0]", "{t}[..., ::2]", "{t}.t()", "{t}.transpose(0, -1)", "{t}.view(-1)",
    "{t}.reshape(-1)", "{t}.unsqueeze(0)", "{t}[:, None]", "{t}.squeeze()", "{t}.flatten()",
    "{t}.expand(2, *{t}.shape)", "{t}.as_strided((2, 2), (1, 2))", "{t}.as_strided((3,), (1,), 1)",
    "{t}.diagonal()", "{t}.narrow(0, 0, 2)", "{t}.select(-1, 0)", "{t}.unfold(0, 2, 1)",
    "{t}.view_as({t})", "{t}.detach()", "{t}.permute(1, 0)", "{t}.view({t}.shape)",
    "torch.view_as_real(torch.view_as_complex({t}.view(-1, 2)))", "{t}.movedim(0, -1)",
    "{t}.conj()", "{t}.real", "{t}.view(torch.int32)", "{t}[-1:, :]", "[{t}, {t}][1]",
    "{t}.view(-1, 2)", "{t}.swapaxes(0, 1)",
]
SEVERAL = [
    "{t}.chunk(2)", "{t}.split(2, -1)", "{t}.unbind(0)[:2]", "{t}.max(0)", "{t}.topk(2)",
    "{t}.sort(-1)", "torch.var_mean({t})", "{t}.min(-1)", "torch.aminmax({t})",
    "torch.tensor_split({t}, 2)", "{t}.frexp()", "torch.unbind({t}.t()[:2])", "{t}.median(-1)",
    "helper({t}, {t})", "decorated({t}, {t})", "[x * 2 for x in ({t}, {t})]",
    "torch._foreach_add([{t}, {t}], 2)", "self.h0({t}, {t})", "self.h0({t}, {t})",
    "self.h1({t}, {t})",
]
WRITES = [
    "{t}.add_(1)", "{t}.mul_({t})", "{t}.copy_({t})", "{t}.zero_()", "{t}.relu_()",
    "{t}[0] = {t}", "{t}[1:] = {t}[:-1]", "{t}[..., 0] = 3", "{t}[{t} > 1] = 0",
    "{t}.index_put_(({i},), torch.tensor(5.0))", "{t}.index_copy_(0, {i}, {t})",
    "{t}.index_add_(0, {i}, {t})", "{t}.scatter_(0, {i}.view(1, -1), 1.5)",
    "{t}.masked_fill_({t} > 0, -1)", "{t}.fill_(2)", "torch.add({t}, {t}, out={t})",
    "torch.mm({m}, {m}.t(), out={m})", "torch.sum({t}, 0, out={t})", "{t}.bernoulli_(0.5)",
    "{t}.uniform_()", "{t}.normal_()", "{t}.clamp_(-1, 1)", "{v} += {t}", "{v} *= 0.5",
    "{t}.sub_({t}[0])", "{t}.t().add_({t}.t())",
    "torch.nn.functional.dropout({t}, 0.5, True, True)",
    "{t}.view(-1)[1:3].mul_(2)", "torch._foreach_add_([{t}, {t}], 1)", "{t}.exponential_()",
    "torch.cat([{t}, {t}], out={t})", "{t}.cumsum_(0)", "{t}.addmm_({m}, {m})",
    "torch.sort({t}, out=({t}, {i}))", "{v}.transpose_(0, -1)", "{v}.unsqueeze_(0)",
    "{t}.index_fill_(0, {i}, 2)", "{t}.random_(0, 4)", "{t}.diagonal().fill_(1)",
    "torch._foreach_mul_([{t}, {t}], [{t}, {t}])", "{t}.lerp_({t}, 0.5)", "{t}.tril_()",
    "{t}[..., 1:].copy_({t}[..., :-1])",
]
WAITS = [
    "W({t}, {t})", "W({t}, {t})", "W({t}, {t})", "W({t}, {v})", "W([{t}, {t}][1], {t})",
    "W({t}[0], {t})", "W(self.w, {t})", "W(dict(k={t})['k'], {t})", "ops.wait([{t}])",
    "ops.wait([{t}, {t}])", "mark = ops.record()", "ops.wait([mark])",
]
INPUTS = [
    "torch.randn(3, 4)", "torch.randn(4, 4)", "torch.randn(4, 3).t()",
    "torch.randn(8, 8)[::2, 1::2]",
    "torch.randn(3, 1).expand(3, 4)", "torch.randn(20)[2:18].view(4, 4)", "torch.randn(4)",
    "torch.tensor(1.5)", "torch.randn(4, 0)", "torch.randint(-3, 3, (3, 4))",
    "torch.randn(2, 3, 4)", "torch.randn(3, 4).half()", "torch.randn(3, 4).bfloat16()",
    "torch.randn(3, 4).double()", "torch.rand(3, 4) > 0.5", "torch.randn(2, 4, 4).transpose(1, 2)",
    "torch.randn(3, 4, dtype=torch.complex64)", "torch.randint(0, 9, (4, 4), dtype=torch.int32)",
]
SIZED_INPUTS = [
    "torch.randn(n, 4)", "torch.randn(n, 4)", "torch.randn(4, n).t()", "torch.randn(n + 1, 4)[1:]",
    "torch.randn(n)", "torch.randn(2 * n, 4)", "torch.randint(-3, 3, (n, 4))", "torch.randn(4, 4)",
    "torch.randn(2, n, 4).transpose(0, 1)",
]
ALIASES = ["{x}", "{x}[1:]", "{x}.t()", "{x}.view(-1)", "{x}[0]", "{x}.detach()",
           "{x}.flatten()[1:]"]
DIFFERENTIABLE = [
    "{t} + {t}", "{t} * {t}", "{t}.tanh()", "{t}.sigmoid()", "{t} - 1", "{m} @ {m}.t()",
    "{t}.sum(0)", "torch.cat([{t}, {t}])", "{t}.softmax(-1)", "{t}.t()", "{t}[1:]", "{t}[0]",
    "torch.nn.functional.dropout({t}, 0.3)", "{t}.mean(-1, keepdim=True)", "{t}.view(-1)",
    "torch.stack([{t}, {t}])", "{t}.chunk(2)[0]", "torch.where({t} > 0, {t}, {t})", "{t}.detach()",
    "torch.nn.functional.layer_norm({t}, {t}.shape[-1:])", "{t}.max(0).values", "{t}.clone()",
    "{m} @ self.w[:{m}.shape[1]]", "{t} * self.b[0]", "{t} + self.n", "helper({t}, {t})[0]",
    "torch.nn.functional.linear({t}, self.w, self.b)", "{t}.exp().log1p()",
]
DIFFERENTIABLE_WRITES = ["self.n.add_(1)", "{t}.clone().mul_(2)", "{v}.add_(1)", "{v}.mul_(0.5)"]

HEADER = """\
import torch
from anabranch import stream as S, wait as W
from anabranch.torchair import ops, scope as C

again = S("again")


def helper(x, y):
    with S("helper"):
        z = x * 2
        with again:
            W(y, z)
            u = y + 1
    return z, u


@S("decorated")
def decorated(x, y):
    W(x, y)
    return x + 1, y.neg()


class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(4, 4))
        self.b = torch.nn.Parameter(torch.randn(4))
        self.tied = self.w
        self.register_buffer("n", torch.zeros(3, 4))
"""
