"""Writes random programs.

A program is generated while it runs eagerly, so every statement of it is legal: one that raises is
left out. A program with dynamic sizes runs at two sizes at once, and what raises at either is left
out.
"""

import dataclasses
import random
import warnings

import torch

from fuzz import phrases

KINDS = ("static", "static", "static", "dynamic", "training")
SIZES = (3, 5)  # of dynamic programs, while they are written


@dataclasses.dataclass
class Program:
    """The source of a module M and of inputs(n), and how to call it."""

    source: str
    kind: str  # "static", "dynamic" or "training"

    @property
    def training(self):
        return self.kind == "training"

    @property
    def dynamic(self):
        return self.kind == "dynamic"


class Generator:
    """Writes one program; the seed decides everything."""

    def __init__(self, seed, kind=None):
        self.random = random.Random(seed)
        self.kind = kind or self.random.choice(KINDS)
        self.training = self.kind == "training"
        self.labels = self.random.sample(phrases.LABELS, self.random.randint(1, 8))
        self.count = 0

    def program(self):
        """A Program."""
        torch.manual_seed(7)
        self.scopes = [{} for _ in (SIZES if self.kind == "dynamic" else SIZES[:1])]
        for scope in self.scopes:
            exec(phrases.HEADER, scope)
            scope["self"] = scope["M"]()
        texts = self.inputs()
        inputs = [f"x{i}" for i in range(len(texts))]
        with torch.set_grad_enabled(self.training):
            helpers = [] if self.training else [self.helper(f"h{i}") for i in range(2)]
            self.begin([*inputs, "self.w", "self.b", "self.n", "self.tied"])
            self.block(2, self.random.randint(4, 25))
            outputs = [self.pick("t") for _ in range(self.random.randint(1, 5))]
        if not self.training and self.random.random() < 0.3:
            outputs += ["None", "3"]
        source = phrases.HEADER + "\n" + "".join(helpers) + "\n".join([
            f"    def forward(self, {', '.join(inputs)}):", *self.lines,
            f"        return {', '.join(outputs)},", "", "",
            "def inputs(n):", *(f"    x{i} = {text}" for i, text in enumerate(texts)),
            f"    return [{', '.join(inputs)}]", ""])
        return Program(source, self.kind)

    def inputs(self):
        """Makes the inputs in every scope; returns the expressions that make them."""
        texts = []
        for index in range(self.random.randint(2, 5)):
            kinds = {"static": phrases.INPUTS, "dynamic": phrases.SIZED_INPUTS,
                     "training": ["torch.randn(3, 4)", "torch.randn(4, 4)"]}[self.kind]
            text = self.random.choice(kinds)
            if texts and not self.training and self.random.random() < 0.3:
                text = self.random.choice(phrases.ALIASES)
                text = text.format(x=f"x{self.random.randrange(len(texts))}")
            if not self.make_input(index, text):
                text = "torch.randn(3, 4)"
                self.make_input(index, text)
            texts.append(text)
        return texts

    def make_input(self, index, text):
        try:
            for scope, n in zip(self.scopes, SIZES, strict=False):
                exec(f"n = {n}\nx{index} = {text}", scope)
        except Exception:
            return False
        return True

    def helper(self, name):
        """A method of two tensors that returns two, in every scope; returns its source."""
        for scope, n in zip(self.scopes, SIZES, strict=False):
            scope["p"], scope["q"] = torch.randn(n, 4), torch.randn(n, 4)
        self.begin(["p", "q", "self.w", "self.n"])
        self.block(2, self.random.randint(2, 6))
        lines = [f"    def {name}(self, p, q):", *self.lines,
                 f"        return {self.pick('t')}, {self.pick('t')}", "", ""]
        source = "\n".join(lines)
        for scope in self.scopes:
            exec(f"class H:\n{source}", scope)
            setattr(scope["M"], name, getattr(scope["H"], name))
        return source

    def begin(self, names):
        """Starts a function whose operands are `names`."""
        self.lines, self.names, self.marked = [], names, False

    def block(self, indent, budget):
        while budget > 0:
            if self.random.random() < 0.3 and indent < 6:
                before = len(self.lines) + 1
                inside = self.random.randint(1, max(1, budget // 2))
                self.lines.append("    " * indent + f"with {self.scope()}:")
                self.block(indent + 1, inside)
                if len(self.lines) == before:
                    self.lines.pop()
                budget -= inside
            else:
                self.statement(indent)
                budget -= 1

    def scope(self):
        if self.random.random() < 0.15:
            return self.random.choice(phrases.SCOPES)
        return f"S({self.random.choice(self.labels)!r})"

    def statement(self, indent):
        choose, dice = self.random.choice, self.random.random()
        if dice < 0.18:
            return self.wait(indent)
        if self.training:
            if dice < 0.25:
                return self.attempt(indent, self.expand(choose(phrases.DIFFERENTIABLE_WRITES)))
            return self.assign(indent, choose(phrases.DIFFERENTIABLE))
        if dice < 0.40:
            return self.attempt(indent, self.expand(choose(phrases.WRITES)))
        if dice < 0.50:
            return self.assign(indent, choose(phrases.SEVERAL), 2)
        return self.assign(indent, choose(phrases.VIEWS if dice < 0.70 else phrases.EXPRESSIONS))

    def wait(self, indent):
        if self.random.random() < 0.25:
            return self.assign(indent, "W({t}, {t})")
        text = self.expand(self.random.choice(phrases.WAITS))
        if "mark]" in text and not self.marked:
            return False
        # A mark is an operator of this block: it may not exist where the block's `with` failed.
        self.marked = self.attempt(indent, text) and text.startswith("mark") or self.marked
        return True

    def assign(self, indent, phrase, results=1):
        names = []
        for _ in range(results):
            self.count += 1
            names.append(f"v{self.count}")
        return self.attempt(indent, f"{', '.join(names)} = {self.expand(phrase)}", names)

    def attempt(self, indent, line, targets=()):
        """Appends the line if it is legal everywhere; its targets become operands."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # a resized out= is for Dynamo to refuse
                for scope in self.scopes:
                    exec(line, scope)
            values = [scope[target] for target in targets for scope in self.scopes]
            if any(not isinstance(v, torch.Tensor) or v.numel() > 400 for v in values):
                return False
        except Exception:
            return False
        self.lines.append("    " * indent + line)
        self.names += targets
        return True

    def expand(self, phrase):
        for kind in "tmiv":
            while "{" + kind + "}" in phrase:
                phrase = phrase.replace("{" + kind + "}", self.pick(kind), 1)
        return phrase

    def pick(self, kind):
        """The text of an operand of this kind, if there is one; a recent one more often."""
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
        return eval(name, self.scopes[0])


def program(seed, kind=None):
    """The Program of a seed."""
    return Generator(seed, kind).program()
