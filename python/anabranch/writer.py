"""Writes an ATen graph as the graph text, the only thing that the C++ core gets (docs/formats.md).

Each operator states facts: name, arguments, result types with the buffer that holds them, the
schema's writes, effects, scope attributes, source line. Nothing is decided here.
"""

import operator
from dataclasses import dataclass, field

import sympy
import torch
from torch._library.utils import is_builtin

from anabranch import facts, markers
from anabranch.errors import compile_error
from anabranch.expressions import Unsupported, expression_of, print_size, symbols_of
from anabranch.lower import ATTRIBUTES, WAIT, is_wait
from anabranch.printing import print_operator
from anabranch.source import describe_source, source_of
from anabranch.values import (
    Buffers,
    check_tensor,
    print_attributes,
    print_literal,
    print_type,
    quote,
)


@dataclass
class GraphText:
    """The text of a graph and how to call the program made from it."""

    text: str = ""
    constants: list = field(default_factory=list)
    # Position in the call's arguments of each tensor input.
    tensors: list = field(default_factory=list)
    # How each host integer input is found: (position, None) is the argument itself, (position, d)
    # the size of dimension d of that tensor.
    integers: list = field(default_factory=list)
    # ("tensor" | "int" | "literal", literal) of each output.
    outputs: list = field(default_factory=list)
    dynamic: bool = False
    labels: list = field(default_factory=list)
    custom_operators: bool = False  # some operator comes from outside torch


_NUMBERS = (torch.SymInt, torch.SymBool, torch.SymFloat)


def _number(value):
    """The expression of a number; of a flag that was read from a tensor, the 0 or 1 behind it."""
    size = expression_of(value)
    if isinstance(size, sympy.Eq) and isinstance(size.lhs, sympy.Symbol) and size.rhs == 1:
        return size.lhs
    return size


class Writer:
    """One graph without nested ones; anabranch.text adds those."""

    def __init__(self, graph_module, name):
        self.module = graph_module
        self.nodes = list(graph_module.graph.nodes)
        self.buffers = Buffers()
        self.lines = []
        self.names = {}  # node → text of the value, or a list of texts for several results
        self.constants = {}  # attribute name → value
        self.attributes = {}  # node → scope attributes
        self.result = GraphText()
        self.name = name
        self.alive = {n.args[1]: n for n in self.nodes if n.target is markers.wait_dep}
        self.wait_numbers = set()
        self.bound = set()  # symbols whose value is known at this place of the program
        self.next_number = max(self.alive, default=-1) + 1
        self.keep = []  # tensors whose storages are numbered must not die before the end

    def write(self):
        self._inputs()
        for node in self.nodes:
            try:
                self._statement(node)
            except Unsupported as problem:
                raise self._refuse(node, str(problem)) from None
        body = "\n".join("  " + line for line in self.lines)
        self.result.text = f"anabranch 1\ngraph {quote(self.name)} {{\n{body}\n}}\n"
        labels = (a.get("_user_stream_label") for a in self.attributes.values())
        self.result.labels = list(dict.fromkeys(label for label in labels if label))
        return self.result

    def _refuse(self, node, what, fix=None):
        return compile_error(
            f"anabranch cannot express {what}", node=node, source=describe_source(node),
            fix=fix or "keep this operator outside the compiled function, with "
            "@torch.compiler.disable on the function that calls it")

    # Inputs.

    def _inputs(self):
        placeholders = [node for node in self.nodes if node.op == "placeholder"]
        bound = {}
        for position, node in enumerate(placeholders):
            self._find_symbols(position, node.meta.get("val"), bound)
        for symbol in sorted(symbols_in(self.module)):
            if symbol not in bound:
                continue  # the operator that needs it is refused, with its name and line
            self.lines.append(f"%{symbol} = input : int({symbol})")
            self.result.integers.append(bound[symbol])
            self.result.dynamic = True
        self.bound |= set(bound)
        for position, node in enumerate(placeholders):
            if isinstance(node.meta.get("val"), torch.Tensor):
                self._input(position, node)

    @staticmethod
    def _find_symbols(position, value, bound):
        if isinstance(value, torch.SymInt):
            found = [(None, value)]
        elif isinstance(value, torch.Tensor):
            found = list(enumerate(value.size()))
        else:
            found = []
        for dimension, size in found:
            size = expression_of(size)
            if not isinstance(size, int) and size.is_symbol:
                # An argument that is the number itself wins over reading a tensor's size.
                if str(size) not in bound or dimension is None:
                    bound[str(size)] = (position, dimension)

    def _input(self, position, node):
        value = node.meta["val"]
        try:
            self._check_symbols(value)
            kind = self._type(value)
        except Unsupported as problem:
            raise self._refuse(node, f"{problem} as an input") from None
        self.names[node] = f"%{node.name}"
        self.lines.append(f"%{node.name} = input : {kind}")
        self.result.tensors.append(position)

    # Statements.

    def _statement(self, node):
        if node.op == "placeholder":
            return
        if node.op == "get_attr":
            self._constant(node)
        elif node.op == "output":
            self._output(node)
        elif node.op != "call_function":
            raise self._refuse(node, f"a node of kind {node.op}")
        elif node.target is operator.getitem:
            self._getitem(node)
        elif facts.is_size_arithmetic(node.target):
            return  # its value is an expression, written where it is used
        elif node.target is markers.wait_dep:
            self._wait_dependency(node, node.args[0], node.args[1])
        elif isinstance(node.target, torch._ops.OpOverload):
            self._operator(node)
        elif isinstance(node.target, torch._ops.HigherOrderOperator):
            self._control(node)
        else:
            raise self._refuse(node, f"a call of {node.target}")

    def _constant(self, node):
        tensor = self.module
        for part in node.target.split("."):
            tensor = getattr(tensor, part)
        if not isinstance(tensor, torch.Tensor):
            return  # the body of a control-flow operator, which is refused by name
        if node.target not in self.constants:
            self.constants[node.target] = f"%{node.name}"
            kind = self._type(self._fake_of(node, tensor))
            self.lines.append(f"%{node.name} = constant : {kind}")
            self.result.constants.append(tensor)
        self.names[node] = self.constants[node.target]

    def _fake_of(self, node, tensor):
        """The fake tensor whose storage the views of a constant share."""
        if isinstance(node.meta.get("val"), torch.Tensor):
            return node.meta["val"]
        for other in self.nodes:
            value = other.meta.get("val")
            if isinstance(value, torch._subclasses.FakeTensor):
                return value.fake_mode.from_tensor(tensor, static_shapes=True)
        return tensor

    def _getitem(self, node):
        names = self.names.get(node.args[0])
        self.names[node] = names[node.args[1]] if isinstance(names, list) else None

    def _wait_dependency(self, node, tensor, number):
        text = self._argument(tensor)
        self.lines.append(f"^{node.name} wait_dependency {number} ({text}){self._at(node)}")

    def _operator(self, node):
        if node.target is torch.ops.aten._assert_scalar.default and self._holds(node.args[0]):
            return
        known = set(self.bound)
        values, names = self._results(node)
        written = facts.written_nodes(node)
        reads = facts.reads_in_flight(node)
        effects = facts.effects(node)
        head = str(node.target)
        self.result.custom_operators |= not (
            is_builtin(node.target) or facts.is_collective(node)
            or node.target is print_operator)
        duplicate = None
        if is_wait(node) and node.meta["custom"][WAIT] in self.alive:
            number = node.meta["custom"][WAIT]
            if number in self.wait_numbers:
                # A regenerated view: the same wait, once more.
                duplicate, number = number, self.next_number
                self.next_number += 1
            self.wait_numbers.add(number)
            head = f"wait {number} "
        elif self.bound == known and self._is_view(values, written, effects):
            head = f"view {head}"
        left = f"{', '.join(names)} = " if names else ""
        if not names or names[0] != f"%{node.name}":
            left += f"^{node.name} "
        line = f"{left}{head}({self._operands(node)})"
        if written:
            line += f" writes({', '.join(self._argument(n) for n in written)})"
        if reads:
            line += f" reads({', '.join(self._argument(n) for n in reads)})"
        if effects:
            line += f" effects({', '.join(effects)})"
        line += print_attributes(self._attributes(node))
        if names:
            line += " : " + ", ".join(self._result_type(value) for value in values)
        self.lines.append(line + self._at(node))
        if duplicate is not None:
            self._repeat_dependency(node, duplicate, number)

    def _repeat_dependency(self, node, old, number):
        tensor = self._argument(self.alive[old].args[0])
        self.lines.append(f"^{node.name}.dep wait_dependency {number} ({tensor}){self._at(node)}")

    def _results(self, node):
        value = node.meta.get("val")
        if isinstance(value, (list, tuple)):
            values = list(value)
            names = [f"%{node.name}.{i}" for i in range(len(values))]
            self.names[node] = [None if v is None else name
                                for v, name in zip(values, names, strict=True)]
        elif value is None:
            values, names = [], []
            self.names[node] = None
        else:
            values, names = [value], [f"%{node.name}"]
            self.names[node] = names[0]
        for item in values:
            self._check_result(node, item)
        return values, names

    def _check_result(self, node, value):
        if isinstance(value, torch.Tensor):
            check_tensor(value)
            sizes = (*value.size(), *value.stride(), value.storage_offset())
            # A size that the data decides is known from here on.
            self.bound |= {str(size) for size in map(expression_of, sizes)
                           if isinstance(size, sympy.Symbol)}
            self._check_symbols(value)
            self.result.dynamic |= any(symbols_of(size) for size in sizes)
        elif isinstance(value, _NUMBERS):
            size = _number(value)
            if isinstance(size, sympy.Symbol):
                self.bound.add(str(size))
            elif isinstance(value, torch.SymFloat) or symbols_of(size) - self.bound:
                raise self._read_back(node)
        elif value is not None and not isinstance(value, int):
            raise Unsupported(f"a result of type {type(value).__name__}")

    @staticmethod
    def _holds(condition):
        """True for an assertion that holds whatever the sizes are."""
        if isinstance(condition, torch.fx.Node):
            condition = condition.meta.get("val")
        return expression_of(condition) in (True, 1)

    def _read_back(self, node):
        return self._refuse(
            node, "arithmetic on a number that is read back from a tensor",
            "keep the value in a tensor, and read it back outside the compiled function")

    def _check_symbols(self, tensor):
        for size in (*tensor.size(), *tensor.stride(), tensor.storage_offset()):
            unknown = symbols_of(size) - self.bound
            if unknown:
                raise Unsupported(
                    f"a size that is computed from one that no operator gives "
                    f"({', '.join(sorted(unknown))})")

    def _is_view(self, values, written, effects):
        """No launch: every result is a window on memory that exists already."""
        if written or effects or not values:
            return False
        return all(isinstance(v, torch.Tensor) and self.buffers.known(v) for v in values)

    def _type(self, tensor):
        self.keep.append(tensor)
        return print_type(tensor, self.buffers.number(tensor))

    def _result_type(self, value):
        if isinstance(value, torch.Tensor):
            return self._type(value)
        if value is None:
            return f"u8[0] @b{self.buffers.fresh()}"  # an optional result that is not computed
        if isinstance(value, (torch.SymBool, torch.SymFloat)):
            kind = "bool" if isinstance(value, torch.SymBool) else "float"
            return f"{kind}({print_size(_number(value))})"
        return f"int({print_size(value)})"

    def _operands(self, node):
        positional = [self._argument(value) for value in node.args]
        named = [f"{name}={self._argument(value)}" for name, value in node.kwargs.items()]
        return ", ".join(positional + named)

    def _argument(self, value):
        if isinstance(value, torch.fx.Node):
            return self._node_argument(value)
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(self._argument(item) for item in value)}]"
        return print_literal(value)

    def _node_argument(self, node):
        value = node.meta.get("val")
        if isinstance(value, (torch.SymInt, torch.SymBool)):
            unknown = symbols_of(value) - self.bound
            if unknown:
                raise self._read_back(node)
            return print_literal(value)
        name = self.names.get(node)
        if isinstance(value, torch.SymFloat) and name is None:
            raise self._read_back(node)
        if isinstance(name, list):
            return f"[{', '.join(item or 'none' for item in name)}]"
        if name is not None:
            return name
        if value is None or isinstance(value, (bool, int, float, str)):
            return print_literal(value)
        raise Unsupported(f"an argument of type {type(value).__name__}")

    def _attributes(self, node):
        """The scope attributes; an operator that AOTAutograd added goes where its data is."""
        if node not in self.attributes:
            custom = node.meta.get("custom") or {}
            found = custom.get(ATTRIBUTES)
            if found is None:
                producers = [n for n in node.all_input_nodes if self.attributes.get(n)]
                found = self.attributes[producers[-1]] if producers else {}
            self.attributes[node] = found
        return self.attributes[node]

    def _at(self, node):
        place = source_of(node)
        if not place:
            return ""
        return f" at {quote(place[0])} {place[1]} in {quote(place[2])}"

    def _control(self, node):
        raise self._refuse(node, f"the higher-order operator {node.target.name()}")

    # Outputs.

    def _output(self, node):
        outputs = node.args[0]
        items = []
        for value in outputs if isinstance(outputs, (list, tuple)) else [outputs]:
            kind, text, literal = self._output_item(value)
            self.result.outputs.append((kind, literal))
            items.append(text)
        self.lines.append("return " + ", ".join(items))

    def _output_item(self, value):
        if isinstance(value, torch.fx.Node):
            known = value.meta.get("val")
            if isinstance(known, torch.SymInt):
                size = expression_of(known)
                if isinstance(size, int):
                    return "literal", "none", size
                return "int", self._node_argument(value), None
            if isinstance(known, torch.SymBool):
                flag = expression_of(known)
                if isinstance(flag, int):
                    return "literal", "none", bool(flag)
                return "bool", self._node_argument(value), None
            if isinstance(known, torch.SymFloat):
                return "float", self._node_argument(value), None
            if self.names.get(value) is not None and not isinstance(self.names[value], list):
                return "tensor", self.names[value], None
            if known is None or isinstance(known, (bool, int, float, str)):
                return "literal", "none", known
            raise Unsupported(f"an output of type {type(known).__name__}")
        if value is None or isinstance(value, (bool, int, float, str)):
            return "literal", "none", value
        raise Unsupported(f"an output of type {type(value).__name__}")


def symbols_in(module):
    """The symbols of every value of a graph and of the bodies in it."""
    used = set()
    for node in module.graph.nodes:
        value = node.meta.get("val")
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(item, torch.Tensor) and item.layout is torch.strided:
                for size in (*item.size(), *item.stride(), item.storage_offset()):
                    used |= symbols_of(size)
            elif isinstance(item, _NUMBERS):
                used |= symbols_of(item)
        body = getattr(module, node.target, None) if node.op == "get_attr" else None
        if isinstance(body, torch.fx.GraphModule):
            used |= symbols_in(body)
    return used
