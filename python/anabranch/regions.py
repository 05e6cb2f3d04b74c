"""Regions of a program become kernels: asks for them, lowers each distinct one once, hands them back.

Everything that cannot be lowered stays ATen's operators, and one log line says why.
"""

import json

import torch

from anabranch import fusible, inductor, kernel_library, log
from anabranch.library import plan_class
from anabranch.widen import is_half_product, widen

# Views whose meaning does not depend on the strides of what they show.
_VIEWS = {
    "_unsafe_view", "alias", "chunk", "detach", "diagonal", "expand", "flatten", "movedim", "narrow",
    "permute", "select", "slice", "split", "split_with_sizes", "squeeze", "t", "transpose",
    "unbind", "unflatten", "unsqueeze", "view",
}


def compile_with_regions(graph_module, graph_text, options, constants, cores):
    """The C++ program of a graph with its regions as steps; None when there is nothing to fuse.

    `constants` are the placeholders whose tensors stay the same from call to call.
    """
    alone, with_others, by_itself = fusible.candidates(graph_module, constants)
    if not alone and not by_itself and len(with_others) < 2:
        return None
    plan = plan_class()(graph_text.text, options, graph_text.constants, alone, with_others,
                        by_itself)
    requests = [_Request(graph_module, constants, **found) for found in json.loads(plan.regions())]
    graphs, of_region, library = _lower_all(requests, cores)
    try:
        return plan.finish(graphs, of_region, library)
    except RuntimeError as problem:  # what is wrong with the graph itself is raised again without
        _say(problem)
        return None


def _lower_all(requests, cores):
    """(texts of steps, for each request the number of its text or -1, path of the library)."""
    numbers, graphs, kernels = {}, [], {}
    for request in requests:
        if request.key in numbers:
            continue
        try:
            steps = request.lower(cores)
        except Exception as problem:  # Inductor raises all kinds, and the operators are still there
            _say(problem)
            numbers[request.key] = -1
            continue
        numbers[request.key] = len(graphs)
        graphs.append(steps.text)
        kernels |= {kernel.symbol: kernel for kernel in steps.kernels}
    of_region = [numbers[request.key] for request in requests]
    if not kernels:
        return graphs, of_region, ""
    try:
        return graphs, of_region, kernel_library.build(kernels.values(), cores)
    except kernel_library.BuildError as problem:
        _say(problem)
        needs = ["anabranch.kernel" in text for text in graphs]
        return graphs, [-1 if of >= 0 and needs[of] else of for of in of_region], ""


def _say(problem):
    reason = (str(problem).strip() or type(problem).__name__).splitlines()[0]
    log.warn_once(f"regions {reason}",
                  f"some operators are not fused and run one by one: {reason}")


class _Request:
    """One region of the plan, as a part of the captured graph."""

    def __init__(self, graph_module, constants, operators, inputs, outputs):
        self.nodes = {node.name: node for node in graph_module.graph.nodes}
        members = set(operators)
        self.operators = [node for node in graph_module.graph.nodes if node.name in members]
        self.inputs = [self._value(name) for name in inputs]
        self.outputs = [self._value(name) for name in outputs]
        wanted = {node for member in self.operators for node in [fusible.weight_of(member)]
                  if node is not None and fusible.base_of(node) in constants}
        self.weights = [number for number, node in enumerate(self.inputs) if node in wanted]
        self.key = self._describe()

    def _value(self, name):
        """The node of a value: `name`, or result `name.number` of an operator with several."""
        if name in self.nodes:
            return self.nodes[name]
        owner, _, number = name.rpartition(".")
        return next(user for user in self.nodes[owner].users
                    if user.op == "call_function" and user.args[1:] == (int(number),))

    def _given(self):
        values = [node.meta["val"] for node in self.inputs]
        return [(tuple(value.shape), value.stride(), value.dtype) for value in values]

    def _describe(self):
        """Equal for regions that do the same with inputs of the same kind."""
        numbers = {node: f"i{number}" for number, node in enumerate(self.inputs)}

        def name(node):
            if node.target is not None and node not in numbers and _is_getitem(node):
                return f"{name(node.args[0])}[{node.args[1]}]"
            return numbers[node]

        lines = []
        for number, node in enumerate(self.operators):
            arguments = torch.fx.map_arg((node.args, node.kwargs), name)
            lines.append(f"{node.target}{arguments}")
            numbers[node] = f"o{number}"
        return repr((lines, self._given(), self.weights, [name(node) for node in self.outputs]))

    def lower(self, cores):
        """The Steps of the region. Raises inductor.Refused, or whatever Inductor raises."""
        only = self.operators[0] if len(self.operators) == 1 else None
        if only is not None and is_half_product(only) and not self.weights:
            operands = [self.inputs.index(operand) for operand in only.args]
            return widen(only.target, operands, self._given(), only.meta["val"])
        inductor.check_version()
        return inductor.lower(self._module(), self._given(), self.weights, cores)

    def _module(self):
        graph, copies = torch.fx.Graph(), {}
        for number, node in enumerate(self.inputs):
            copies[node] = graph.placeholder(f"i{number}")

        def copy(node):
            if node not in copies and _is_getitem(node):
                copies[node] = graph.call_function(node.target, (copy(node.args[0]), node.args[1]))
            return copies[node]

        for node in self.operators:
            name = node.target._opname
            if fusible.is_view(node) and name not in _VIEWS:
                raise inductor.Refused(f"the view {name}, which depends on strides")
            arguments, named = torch.fx.map_arg((node.args, node.kwargs), copy)
            copies[node] = graph.call_function(node.target, arguments, named)
        graph.output([copy(node) for node in self.outputs])
        return torch.fx.GraphModule({}, graph)


def _is_getitem(node):
    return node.op == "call_function" and getattr(node.target, "__name__", "") == "getitem"
