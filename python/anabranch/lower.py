"""Reads the markers in Dynamo's graph and erases them.

Afterwards every operator carries `meta["custom"]["ab"]`, the merged attributes of its scopes, and
every wait is an `aten.alias` with `meta["custom"]["ab_wait"] = k` beside a `wait_dep(tensor, k)`.
AOTAutograd copies "custom" to the ATen operators that it makes.
"""

import itertools
import operator

import torch

from anabranch import log, markers
from anabranch.errors import ARGUMENT_ERRORS, compile_error

ATTRIBUTES = "ab"
WAIT = "ab_wait"
LABEL = "_user_stream_label"


def lower(graph_module):
    """Lowers the markers of the graph and of the bodies of its control-flow operators, in place."""
    _lower(graph_module, {}, itertools.count())


def _lower(graph_module, outer, numbers):
    lowering = _Lowering(graph_module, outer, numbers)
    for node in list(graph_module.graph.nodes):
        lowering.visit(node)
    graph_module.recompile()


def decode(outer, encoded):
    """The attributes inside a scope: those outside, overridden by `key`, `kind:value` pairs."""
    merged = dict(outer)
    for key, value in zip(encoded[::2], encoded[1::2], strict=True):
        kind, _, text = value.partition(":")
        if kind == "d":
            merged.pop(key, None)
        else:
            merged[key] = text == "1" if kind == "b" else text
    return merged


def _tensor_of(node):
    return node.meta.get("example_value", node.meta.get("val"))


def _identity(node):
    """Equal for two nodes that stand for the same tensor object in the user's program."""
    value = _tensor_of(node)
    return id(value) if isinstance(value, torch.Tensor) else node


def _changes_shape(node):
    """True for an in-place operator that changes sizes or strides, not values."""
    if node.op != "call_method":
        return False
    packet = getattr(torch.ops.aten, str(node.target), None)
    if not isinstance(packet, torch._ops.OpOverloadPacket):  # `__eq__` is a method of the namespace
        return False
    return any(torch.Tag.inplace_view in getattr(packet, name).tags for name in packet.overloads())


class _Lowering:
    def __init__(self, graph_module, outer, numbers):
        self.module = graph_module
        self.graph = graph_module.graph
        self.stack = [dict(outer)]
        self.numbers = numbers
        self.current = {}  # identity of a tensor → the alias that its later uses read
        self.first = {}  # identity of a tensor → the node that made it
        self.last = {}  # stream label → last operator on it
        self.pending = {}  # stream label → marks that its next operator waits for
        self.events = {}  # tagged event → the operator it marks
        self.recorded = {}  # record marker → the operator it marks

    @property
    def label(self):
        return self.stack[-1].get(LABEL, "")

    def visit(self, node):
        if node.op == "output":
            self._output(node)
            return
        self.first.setdefault(_identity(node), node)
        if node.op == "get_attr":
            self._visit_body(node)
        elif node.op == "placeholder":
            return
        elif node.target in markers.ALL:
            getattr(self, "_" + node.target._schema.name.removeprefix("ab::"))(node)
        else:
            self._operator(node)

    def _visit_body(self, node):
        body = self.module
        for part in str(node.target).split("."):
            body = getattr(body, part, None)
        if isinstance(body, torch.fx.GraphModule):
            _lower(body, self.stack[-1], self.numbers)

    def _output(self, node):
        """Returns the user's own tensors: an in-place operator's result is its operand."""
        for used in list(node.all_input_nodes):
            first = self.first.get(_identity(used), used)
            if first is not used:
                node.replace_input_with(used, first)

    def _reshape(self, node):
        """transpose_ and its like change the tensor object, of which a wait is only an alias."""
        subject = self.first.get(_identity(node.args[0]), node.args[0])
        node.replace_input_with(node.args[0], subject)
        self._mark(node, self.stack[-1])
        wait = self.current.get(_identity(subject))
        if wait is not None:
            self.current[_identity(subject)] = self._insert_wait(node.next, subject, wait)

    def _operator(self, node):
        if _changes_shape(node):
            self._reshape(node)
            return
        self._redirect(node)
        self._mark(node, self.stack[-1])
        if self.pending.get(self.label):
            self._wait_before(node)
        subject = node.args[0] if node.target is operator.setitem else node
        if isinstance(subject, torch.fx.Node) and isinstance(_tensor_of(subject), torch.Tensor):
            self.last[self.label] = subject

    def _mark(self, node, attributes, **more):
        custom = dict(node.meta.get("custom") or {})
        node.meta["custom"] = custom | {ATTRIBUTES: dict(attributes)} | more

    def _redirect(self, node):
        """Makes the node read the newest wait on each of its tensors."""
        if self.current:
            for used in list(node.all_input_nodes):
                newer = self.current.get(_identity(used))
                if newer is not None and newer is not used:
                    node.replace_input_with(used, newer)

    def _resolve(self, node):
        return self.current.get(_identity(node), node)

    def _insert_wait(self, before, subject, dependency):
        """`alias(subject)` that waits for `dependency`, put in front of `before`."""
        number = next(self.numbers)
        with self.graph.inserting_before(before):
            alias = self.graph.call_function(torch.ops.aten.alias.default, (subject,))
            keep = self.graph.call_function(markers.wait_dep, (dependency, number))
        for node in (alias, keep):
            node.meta["stack_trace"] = before.stack_trace
            self._mark(node, self.stack[-1])
        alias.meta["custom"][WAIT] = number
        if "val" in subject.meta:  # an ATen graph: the alias is a window on the same memory
            alias.meta["val"] = subject.meta["val"]
        return alias

    def _scope_enter(self, node):
        self.stack.append(decode(self.stack[-1], node.args[0]))
        if "torchair_enable_data_dump" in self.stack[-1]:
            log.warn_once("data_dump", "data_dump() only marks operators in dumps of graphs here: "
                          "return the tensors that you want to see")
        self.graph.erase_node(node)

    def _scope_exit(self, node):
        if len(self.stack) == 1:
            raise compile_error(
                "a scope ends that did not begin in this graph", node=node,
                fix="open and close the scope in one traced function")
        self.stack.pop()
        self.graph.erase_node(node)

    def _error(self, node):
        kind, message = node.args
        raise ARGUMENT_ERRORS[kind](message)

    def _wait_mark(self, node):
        subject, dependency = node.args
        dependency = self.recorded.get(dependency, dependency)
        if dependency is not None:
            alias = self._insert_wait(node, self._resolve(subject), self._resolve(dependency))
            self.current[_identity(subject)] = alias
        self.graph.erase_node(node)

    def _record_mark(self, node):
        # drop_dead_code removes the marker when the waits that read it are gone.
        self.recorded[node] = self.last.get(self.label)
        self._mark(node, {})

    def _wait_marks(self, node):
        for mark in node.args[0]:
            target = self.recorded.get(mark, mark)
            if target is not None:
                self.pending.setdefault(self.label, []).append(self._resolve(target))
        self.graph.erase_node(node)

    def _event_record(self, node):
        self.events[node.args[0]] = self.last.get(self.label)
        self.graph.erase_node(node)

    def _event_wait(self, node):
        name = node.args[0]
        if name not in self.events:
            raise compile_error(
                f'the tagged event "{name}" is waited for before it is recorded in this graph',
                node=node, fix="record the event earlier in the same compiled function")
        if self.events[name] is not None:
            self.pending.setdefault(self.label, []).append(self._resolve(self.events[name]))
        self.graph.erase_node(node)

    def _wait_before(self, node):
        """Gives the node's first tensor operand the pending waits; a node without one passes."""
        for used in node.all_input_nodes:
            if isinstance(_tensor_of(used), torch.Tensor):
                alias = used
                for dependency in self.pending.pop(self.label):
                    alias = self._insert_wait(node, alias, dependency)
                node.replace_input_with(used, alias)
                return


def drop_dead_code(graph_module):
    """Removes unused pure operators, waits that nothing reads, and what only such waits kept."""
    graph = graph_module.graph
    for node in graph.nodes:
        if node.op == "get_attr":
            body = getattr(graph_module, str(node.target), None)
            if isinstance(body, torch.fx.GraphModule):
                drop_dead_code(body)
    changed = True
    while changed:
        changed = graph.eliminate_dead_code(_is_impure)
        alive = {node.meta["custom"][WAIT] for node in graph.nodes if is_wait(node)}
        for node in reversed(list(graph.nodes)):
            if node.target is markers.wait_dep and node.args[1] not in alive:
                graph.erase_node(node)
                changed = True
            elif node.target is markers.record_mark and not node.users:
                graph.erase_node(node)
                changed = True
            elif node.target is torch.ops.aten._assert_tensor_metadata.default:
                graph.erase_node(node)  # holds by the guards, and would cost a launch
                changed = True
    graph_module.recompile()


def _is_impure(node):
    # Inside a compilation torch takes random operators for pure, but an unused one still draws.
    return node.is_impure(impure_random=True)


def is_wait(node):
    return (
        node.target is torch.ops.aten.alias.default
        and WAIT in (node.meta.get("custom") or {})
    )
