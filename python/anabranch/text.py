"""Graphs with nested bodies: `cond` and `while_loop` (docs/formats.md).

A body is a graph of its own in the statement of its control operator; its inputs are the operands.
"""

import sympy
import torch

from anabranch import facts
from anabranch.expressions import expression_of, print_size, symbols_of
from anabranch.values import print_attributes, print_literal, print_type
from anabranch.writer import Writer, symbols_in


def write_graph(graph_module, name):
    """The GraphText of an ATen graph; CompileError for what cannot be expressed."""
    return _Writer(graph_module, name).write()


def tensor_constants(module):
    """(tensor, fake tensor) of each constant that the graph and the bodies in it use."""
    for node in module.graph.nodes:
        if node.op != "get_attr":
            continue
        value = getattr(module, node.target)
        if isinstance(value, torch.Tensor):
            yield value, node.meta.get("val", value)
        elif isinstance(value, torch.fx.GraphModule):
            yield from tensor_constants(value)


class _Writer(Writer):
    def _control(self, node):
        """`cond` and `while_loop`, with their bodies as nested graphs."""
        name = node.target.name()
        if name == "cond":
            predicate, *graphs, operands = node.args
            additional, head = (), self._argument(predicate)
        elif name == "while_loop":
            *graphs, operands, additional = node.args
            head = f"[{', '.join(self._argument(operand) for operand in operands)}]"
        else:
            super()._control(node)
        bodies = [_Body(getattr(self.module, graph.target), str(graph.target), self)
                  for graph in graphs]
        symbols = sorted(set().union(*(body.outer_symbols() for body in bodies)))
        constants = {id(tensor): (tensor, fake) for body in bodies
                     for tensor, fake in tensor_constants(body.module)}
        given = operands if name == "cond" else additional
        shared = [self._argument(operand) for operand in given]
        shared += ["{" + symbol + "}" for symbol in symbols]
        shared += [self._outer_constant(node, tensor, fake) for tensor, fake in constants.values()]
        texts = [body.write_body(symbols, constants) for body in bodies]
        for body in bodies:
            self.result.custom_operators |= body.result.custom_operators
        written = [self._argument(operand)
                   for position, operand in enumerate((*operands, *additional))
                   if any(body.writes_input(position) for body in bodies)]
        values, names = self._results(node)
        left = f"{', '.join(names)} = " if names else ""
        line = f"{left}^{node.name} {name}({head}, [{', '.join(shared)}])"
        if written:
            line += f" writes({', '.join(dict.fromkeys(written))})"
        line += print_attributes(self._attributes(node))
        line += "".join(f" body {text}" for text in texts)
        if names:
            line += " : " + ", ".join(self._result_type(value) for value in values)
        self.lines.append(line + self._at(node))

    def _outer_constant(self, node, tensor, fake):
        """The name of a tensor constant that a body uses: the body gets it as an operand."""
        name = f"%{node.name}.constant{len(self.result.constants)}"
        self.lines.append(f"{name} = constant : {print_type(fake, self.buffers.fresh())}")
        self.result.constants.append(tensor)
        return name


class _Body(_Writer):
    """A nested graph: its inputs are the operands of its control operator, in order, then the sizes
    and the constants that it takes from outside."""

    def __init__(self, module, name, outer):
        super().__init__(module, name)
        self.outer = outer
        self.placeholders = [node for node in self.nodes if node.op == "placeholder"]
        self.given = {}  # identity of a constant → its name in this body

    def outer_symbols(self):
        """The symbols that the body uses and that the graph around it knows."""
        own = {str(size) for node in self.placeholders
               if isinstance(size := expression_of(node.meta.get("val")), sympy.Symbol)}
        return (symbols_in(self.module) & self.outer.bound) - own

    def write_body(self, symbols, constants):
        """The text, from `graph` on."""
        self.outside = symbols, constants
        lines = self.write().text.split("\n", 1)[1]
        return lines.rstrip("\n")

    def writes_input(self, position):
        value = self.placeholders[position].meta.get("val")
        if not isinstance(value, torch.Tensor):
            return False
        storage = value.untyped_storage()._cdata
        return any(target.meta["val"].untyped_storage()._cdata == storage
                   for node in self.nodes if isinstance(node.target, torch._ops.OpOverload)
                   for target in facts.written_nodes(node)
                   if isinstance(target.meta.get("val"), torch.Tensor))

    def _inputs(self):
        symbols, constants = self.outside
        for position, node in enumerate(self.placeholders):
            value = node.meta.get("val")
            if isinstance(value, torch.Tensor):
                sizes = (*value.size(), *value.stride(), value.storage_offset())
                self.bound |= set().union(*map(symbols_of, sizes))
                self._input(position, node)
            elif isinstance(value, (int, torch.SymInt)):
                self.bound |= symbols_of(value)
                self.names[node] = print_literal(value)
                self.lines.append(f"%{node.name} = input : int({print_size(value)})")
            else:
                raise self._refuse(node, f"an operand of type {type(value).__name__}")
        for symbol in symbols:
            self.bound.add(symbol)
            self.lines.append(f"%outer.{symbol} = input : int({symbol})")
        for number, (key, (_, fake)) in enumerate(constants.items()):
            self.given[key] = f"%outer.constant{number}"
            self.lines.append(f"{self.given[key]} = input : {self._type(fake)}")

    def _constant(self, node):
        tensor = getattr(self.module, node.target)
        if isinstance(tensor, torch.Tensor):
            self.names[node] = self.given[id(tensor)]

    def _outer_constant(self, node, tensor, fake):
        return self.given[id(tensor)]

    def _output_item(self, value):
        if isinstance(value, torch.fx.Node):
            kind, text, literal = super()._output_item(value)
            return kind, text if kind != "literal" else print_literal(literal), literal
        return "literal", print_literal(value), value
