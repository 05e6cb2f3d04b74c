"""Facts about ATen operators that their schemas do not state in one place."""

import operator

import torch

from anabranch.printing import print_operator

# Operators that change these arguments although their schema does not say so: (argument that must
# be true for it, written arguments).
_SILENT_WRITES = {
    "aten.native_batch_norm.default": ("training", ("running_mean", "running_var")),
}

_SYM_NAMESPACES = ("sym_size", "sym_stride", "sym_numel", "sym_storage_offset")
_GROUP_ARGUMENT = "group_name"
_COLLECTIVES = ("_c10d_functional", "_c10d_functional_autograd", "c10d_functional")


def is_size_arithmetic(target):
    """True for arithmetic on sizes: never an operator, computed on the host from expressions."""
    if isinstance(target, torch._ops.OpOverload):
        return target.namespace == "aten" and target._opname in _SYM_NAMESPACES
    name = getattr(target, "__name__", "")
    module = getattr(target, "__module__", "")
    is_arithmetic = module in ("_operator", "math", "builtins") or name.startswith("sym_")
    return is_arithmetic and target is not operator.getitem


def named_arguments(node):
    """{argument name: (argument of the schema, value)} for the arguments that were given."""
    schema = node.target._schema.arguments
    given = {argument.name: (argument, value)
             for argument, value in zip(schema, node.args, strict=False)}
    by_name = {argument.name: argument for argument in schema}
    given |= {name: (by_name[name], value) for name, value in node.kwargs.items()}
    return given


def _nodes_in(value):
    if isinstance(value, torch.fx.Node):
        return [value]
    if isinstance(value, (list, tuple)):
        return [node for item in value for node in _nodes_in(item)]
    return []


def written_nodes(node):
    """The operands whose memory the operator changes, in order."""
    given = named_arguments(node)
    written = [found
               for argument, value in given.values()
               if argument.alias_info is not None and argument.alias_info.is_write
               for found in _nodes_in(value)]
    condition, names = _SILENT_WRITES.get(str(node.target), (None, ()))
    if condition and given.get(condition, (None, False))[1]:
        written += [found for name in names if name in given
                    for found in _nodes_in(given[name][1])]
    if is_collective_wait(node):
        written += _nodes_in(node.args[0])
    return list(dict.fromkeys(written))


def is_collective(node):
    return node.target.namespace in _COLLECTIVES


def is_collective_wait(node):
    """The second half of a collective: when it ends, its operand's memory has the result."""
    return is_collective(node) and node.target._opname == "wait_tensor"


def reads_in_flight(node):
    """What a collective's second half keeps in use: the operands of the first half, which other
    threads read until it ends."""
    if not is_collective_wait(node):
        return []
    first = node.args[0]
    while first.target is operator.getitem:
        first = first.args[0]
    if not isinstance(first.target, torch._ops.OpOverload) or not is_collective(first):
        return []
    operands = [found for argument in first.args for found in _nodes_in(argument)
                if isinstance(found.meta.get("val"), torch.Tensor)]
    return list(dict.fromkeys(operands))


def effects(node):
    """The orders that no memory shows, as the graph text writes them."""
    found = []
    if torch.Tag.nondeterministic_seeded in node.target.tags:
        found.append('random "cpu"')
    if is_collective(node) and not is_collective_wait(node):
        group = named_arguments(node).get(_GROUP_ARGUMENT, (None, "default"))[1]
        found.append(f'collective "{group}"')
    if node.target is print_operator:
        found.append('io "stdout"')
    return found
