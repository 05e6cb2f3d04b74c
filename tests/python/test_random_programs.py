"""Random programs: whatever the scopes and waits, results equal eager execution bit for bit.

A program is generated while it runs eagerly, so every statement of it is legal: one that raises is
left out. It is kept as source text, which a failing test prints as a script.
"""

import linecache
import random
import textwrap
import warnings

import pytest
import torch
from support import compile_graph

LABELS = ["a", "b", "c", "d", "", "a b"]

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
    "{t}[None, 0]", "torch.bernoulli(torch.full((3, 4), 0.5))",
    "{t}.softmax(-1)", "{t}.repeat(2, 1)", "torch.tril({m})", "{t}.index_select(0, {i})",
    "torch.gather({m}, 0, {i}.view(1, -1))", "torch.outer({t}.flatten()[:3], {t}.flatten()[:4])",
    "torch.nn.functional.pad({t}, (1, 1))", "torch.einsum('ij,kj->ik', {m}, {m})",
    "{t}.std(unbiased=False)", "{t}.amax(0)",
    "torch.addmm({m}, {m}, {m}.t())", "{t}.roll(1, 0)", "torch.layer_norm({t}, {t}.shape[-1:])",
]
VIEWS = [
    "{t}[1:]", "{t}[0]", "{t}[..., ::2]", "{t}.t()", "{t}.transpose(0, -1)", "{t}.view(-1)",
    "{t}.reshape(-1)", "{t}.unsqueeze(0)", "{t}[:, None]", "{t}.squeeze()", "{t}.flatten()",
    "{t}.expand(2, *{t}.shape)", "{t}.as_strided((2, 2), (1, 2))", "{t}.as_strided((3,), (1,), 1)",
    "{t}.diagonal()", "{t}.narrow(0, 0, 2)", "{t}.select(-1, 0)", "{t}.unfold(0, 2, 1)",
    "{t}.view_as({t})", "{t}.detach()", "{t}.permute(1, 0)", "{t}.view({t}.shape)",
    "torch.view_as_real(torch.view_as_complex({t}.view(-1, 2)))", "{t}.movedim(0, -1)",
]
SEVERAL = [
    "{t}.chunk(2)", "{t}.split(2, -1)", "{t}.unbind(0)[:2]", "{t}.max(0)", "{t}.topk(2)",
    "{t}.sort(-1)", "torch.var_mean({t})", "{t}.min(-1)", "torch.aminmax({t})",
    "torch.tensor_split({t}, 2)", "{t}.frexp()", "torch.unbind({t}.t()[:2])", "{t}.median(-1)",
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
    "{t}.view(-1)[1:3].mul_(2)", "torch._foreach_add_([{t}, {t}], 1)", "{t}.exponential_()",
    "torch.cat([{t}, {t}], out={t})", "{t}.cumsum_(0)", "{t}.addmm_({m}, {m})",
    "torch.sort({t}, out=({t}, {i}))", "{v}.transpose_(0, -1)", "{v}.unsqueeze_(0)",
]
INPUTS = [
    "torch.randn(3, 4)", "torch.randn(4, 4)", "torch.randn(4, 3).t()",
    "torch.randn(8, 8)[::2, 1::2]",
    "torch.randn(3, 1).expand(3, 4)", "torch.randn(20)[2:18].view(4, 4)", "torch.randn(4)",
    "torch.tensor(1.5)", "torch.randn(4, 0)", "torch.randint(-3, 3, (3, 4))",
    "torch.randn(2, 3, 4)",
    "torch.randn(3, 4).double()", "torch.rand(3, 4) > 0.5", "torch.randn(2, 4, 4).transpose(1, 2)",
]
ALIASES = ["{x}", "{x}[1:]", "{x}.t()", "{x}.view(-1)", "{x}[0]", "{x}.detach()",
           "{x}.flatten()[1:]"]
DIFFERENTIABLE = [
    "{t} + {t}", "{t} * {t}", "{t}.tanh()", "{t}.sigmoid()", "{t} - 1", "{m} @ {m}.t()",
    "{t}.sum(0)", "torch.cat([{t}, {t}])", "{t}.softmax(-1)", "{t}.t()", "{t}[1:]", "{t}[0]",
    "torch.nn.functional.dropout({t}, 0.3)", "{t}.mean(-1, keepdim=True)", "{t}.view(-1)",
    "torch.stack([{t}, {t}])", "{t}.chunk(2)[0]", "torch.where({t} > 0, {t}, {t})", "{t}.detach()",
    "torch.nn.functional.layer_norm({t}, {t}.shape[-1:])", "{t}.max(0).values", "{t}.clone()",
    "{m} @ self.w[:{m}.shape[1]]", "{t} * self.b[0]", "{t} + self.n",
]
DIFFERENTIABLE_WRITES = ["self.n.add_(1)", "{t}.clone().mul_(2)", "{v}.add_(1)", "{v}.mul_(0.5)"]

HEADER = """\
import torch
from anabranch import stream as S, wait as W


class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(4, 4))
        self.b = torch.nn.Parameter(torch.randn(4))
        self.tied = self.w
        self.register_buffer("n", torch.zeros(3, 4))

"""


class Generator:
    """Writes one program; `random` decides everything."""

    def __init__(self, seed, training=False):
        self.random = random.Random(seed)
        self.training = training
        self.lines = []
        self.count = 0

    def pick(self, kind):
        """The text of an operand: any tensor, a matrix, an index vector, a value made here."""
        names = self.names
        if kind == "m":
            names = [n for n in names if self.value(n).dim() == 2] or names
        elif kind == "i":
            names = [n for n in names if self.value(n).dtype == torch.int64] or names
            if self.random.random() < 0.7:
                return "torch.tensor([1, 0])"
        elif kind == "v":
            names = [n for n in names if n.startswith("v")] or names
        return self.random.choice(names[-6:] if self.random.random() < 0.5 else names)

    def value(self, name):
        return eval(name, self.scope)

    def attempt(self, indent, line, targets=()):
        """Appends the line if it is legal; its targets become operands."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # a resized out= is for Dynamo to refuse
                exec(line, self.scope)
            values = [self.scope[target] for target in targets]
            if any(not isinstance(v, torch.Tensor) or v.numel() > 400 for v in values):
                return False
        except Exception:
            return False
        self.lines.append("    " * indent + line)
        self.names += targets
        return True

    def expand(self, template):
        for kind in "tmiv":
            while "{" + kind + "}" in template:
                template = template.replace("{" + kind + "}", self.pick(kind), 1)
        return template

    def new(self):
        self.count += 1
        return f"v{self.count}"

    def statement(self, indent):
        choose, dice = self.random.choice, self.random.random()
        if dice < 0.15:
            first, second = self.pick("t"), self.pick("t")
            if self.random.random() < 0.3:
                name = self.new()
                return self.attempt(indent, f"{name} = W({first}, {second})", [name])
            return self.attempt(indent, f"W({first}, {second})")
        if self.training:
            if dice < 0.25:
                return self.attempt(indent, self.expand(choose(DIFFERENTIABLE_WRITES)))
            name = self.new()
            return self.attempt(indent, f"{name} = {self.expand(choose(DIFFERENTIABLE))}", [name])
        if dice < 0.40:
            return self.attempt(indent, self.expand(choose(WRITES)))
        if dice < 0.50:
            names = [self.new(), self.new()]
            text = f"{', '.join(names)} = {self.expand(choose(SEVERAL))}"
            return self.attempt(indent, text, names)
        name = self.new()
        source = choose(VIEWS if dice < 0.70 else EXPRESSIONS)
        return self.attempt(indent, f"{name} = {self.expand(source)}", [name])

    def block(self, indent, budget):
        while budget > 0:
            if self.random.random() < 0.3 and indent < 6:
                label = self.random.choice(self.labels)
                self.lines.append("    " * indent + f"with S({label!r}):")
                before = len(self.lines)
                inside = self.random.randint(1, max(1, budget // 2))
                self.block(indent + 1, inside)
                if len(self.lines) == before:
                    self.lines.pop()
                budget -= inside
            else:
                self.statement(indent)
                budget -= 1

    def program(self):
        """The source text of a module M with forward, and of inputs()."""
        choose = self.random.choice
        self.labels = self.random.sample(LABELS, self.random.randint(1, len(LABELS)))
        texts = []
        self.scope = {}
        torch.manual_seed(7)
        exec(HEADER, self.scope)
        self.scope["self"] = self.scope["M"]()
        for index in range(self.random.randint(2, 5)):
            kinds = ["torch.randn(3, 4)", "torch.randn(4, 4)"] if self.training else INPUTS
            text = choose(kinds)
            if texts and not self.training and self.random.random() < 0.3:
                text = choose(ALIASES).format(x=f"x{self.random.randrange(len(texts))}")
            try:
                exec(f"x{index} = {text}", self.scope)
            except Exception:
                text = "torch.randn(3, 4)"
                exec(f"x{index} = {text}", self.scope)
            texts.append(text)
        inputs = [f"x{i}" for i in range(len(texts))]
        self.names = [*inputs, "self.w", "self.b", "self.n", "self.tied"]
        with torch.set_grad_enabled(self.training):
            self.block(2, self.random.randint(4, 25))
        outputs = [self.pick("t") for _ in range(self.random.randint(1, 5))]
        extra = ["None", "3"] if not self.training and self.random.random() < 0.3 else []
        return HEADER + "\n".join([
            f"    def forward(self, {', '.join(inputs)}):", *self.lines,
            f"        return {', '.join([*outputs, *extra])},", "", "",
            "def inputs():", *(f"    x{i} = {text}" for i, text in enumerate(texts)),
            f"    return [{', '.join(inputs)}]", ""])


def bits(tensor):
    tensor = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8)


def same(mine, eager):
    """Value, type, layout."""
    if not isinstance(eager, torch.Tensor):
        return mine == eager
    return (mine.dtype == eager.dtype and mine.shape == eager.shape
            and mine.stride() == eager.stride() and torch.equal(bits(mine), bits(eager)))


def close(mine, eager):
    """AOTAutograd may add gradients in another order, and gives zeros where eager has none."""
    if mine is None or eager is None:
        return all(t is None or not t.any() for t in (mine, eager))
    return torch.allclose(mine, eager, rtol=1e-4, atol=1e-5)


def sharing(tensors):
    """Which pairs of tensors share their storage, and which are one object."""
    tensors = [t for t in tensors if isinstance(t, torch.Tensor)]
    return [(i, j, a is b) for i, a in enumerate(tensors) for j, b in enumerate(tensors)
            if i < j and a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr() != 0]


def outcome(module, function, inputs, training, seed):
    """Everything that a caller can see of one call."""
    torch.manual_seed(seed)
    arguments = inputs()
    if training:
        arguments = [x.requires_grad_() for x in arguments]
    with torch.set_grad_enabled(training):
        results = function(*arguments)
    seen = [*results, *arguments, *module.parameters(), *module.buffers()]
    found = {"results": list(results), "written": seen[len(results):], "sharing": sharing(seen),
             "grad": [r.requires_grad for r in results if isinstance(r, torch.Tensor)]}
    if training and any(found["grad"]):
        sum(r.sum() for r in results if r.requires_grad).backward()
        found["gradients"] = [t.grad for t in [*arguments, *module.parameters()]]
    found["generator"] = torch.random.get_rng_state()
    return found


def load(source, name, training):
    scope = {"__name__": name}
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), scope)
    torch.manual_seed(1)
    return scope["M"]().requires_grad_(training), scope["inputs"]


def differences(source, training, calls=3, name="program", backend=None):
    """What differs from eager, as text lines; empty if nothing does."""
    module, inputs = load(source, f"<{name}>", training)
    twin, _ = load(source, f"<{name}>", training)
    if backend is None:
        compiled = compile_graph(module)
    else:
        compiled = torch.compile(module, backend=backend, fullgraph=True, dynamic=False)
    found = []
    for call in range(calls):
        for each in (module, twin):
            each.zero_grad()
        eager = outcome(twin, twin, inputs, training, call)
        mine = outcome(module, compiled, inputs, training, call)
        for key, expected in eager.items():
            got = mine.get(key)
            if key in ("sharing", "grad"):
                if got != expected:
                    found.append(f"call {call}: {key} {got}, eager {expected}")
                continue
            if len(got) != len(expected):
                found.append(f"call {call}: {len(got)} {key}, eager {len(expected)}")
            for index, (a, b) in enumerate(zip(got, expected, strict=False)):
                if not (close if key == "gradients" else same)(a, b):
                    found.append(f"call {call}: {key}[{index}] {a}, eager {b}")
    return found


def script(source, training):
    """The program as a script of its own."""
    return source + textwrap.dedent(f"""
        import anabranch
        torch.manual_seed(1)
        module = M()
        with torch.set_grad_enabled({training}):
            torch.manual_seed(0)
            print(module.requires_grad_({training})(*inputs()))
            torch.manual_seed(1)
            module = M().requires_grad_({training})
            torch.manual_seed(0)
            print(torch.compile(module, backend=anabranch.backend(), fullgraph=True,
                                dynamic=False)(*inputs()))
        """)


def capturable(source, training):
    """False for what torch itself refuses, such as out= with a view, or writes to mixed aliases."""
    torch._dynamo.reset()
    try:
        differences(source, training, calls=1, name="torch", backend="aot_eager")
    except Exception:
        return False
    return True


def check(seed, training):
    """One program, the next one where torch itself refuses this one."""
    for attempt in range(20):
        source = Generator(1000 * attempt + seed, training).program()
        try:
            found = differences(source, training)
        except Exception as problem:
            if not capturable(source, training):
                continue
            found = [f"{type(problem).__name__}: {problem}"]
        assert not found, "\n".join([*found, script(source, training)])
        return
    raise AssertionError("torch refuses every program")


@pytest.mark.parametrize("seed", range(12))
def test_inference(seed, adversary):
    check(seed, training=False)


@pytest.mark.parametrize("seed", range(5))
def test_training(seed, adversary):
    check(seed, training=True)
