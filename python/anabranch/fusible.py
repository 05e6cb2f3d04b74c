"""Which operators of a captured graph may become part of a region that Inductor compiles.

Only what Inductor turns into loops of its own: pointwise operators, reductions, moves, and matrix
products with a constant weight where its product kernel is faster than the library's. No random
numbers, no writes, no indexing by data (whose errors would differ), no integer division (which would
stop the process at a division by zero).
"""

import torch

from anabranch import facts
from anabranch.lower import is_wait
from anabranch.widen import is_half_product

_DTYPES = {torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.bool, torch.uint8,
           torch.int8, torch.int16, torch.int32, torch.int64}
_HALF = (torch.float16, torch.bfloat16)

# Not tagged as pointwise by torch: reductions, normalisations, moves, fills.
_OTHERS = {
    "_log_softmax", "_softmax", "_to_copy", "all", "amax", "amin", "any", "cat", "clone",
    "constant_pad_nd", "full", "full_like", "mean", "native_layer_norm", "ones_like", "scalar_tensor",
    "stack", "sum", "var", "var_mean", "zeros_like",
}
# Pointwise, but left to ATen for integers.
_NO_INTEGERS = {
    "__ilshift__", "__irshift__", "__lshift__", "__rshift__", "bitwise_left_shift",
    "bitwise_right_shift", "div", "divide", "floor_divide", "fmod", "gcd", "lcm", "pow", "remainder",
    "true_divide",
}

# Rows up to which the product kernel was faster than the library's, by measurements with cold
# weights on AVX2: below 2 it only reads the weight, above 32 the library blocks better.
_FEWEST_ROWS, _MOST_ROWS = 2, 32


def candidates(graph_module, constants):
    """(alone, with_others, by_itself): the names of what may be fused, see passes::Fusion.

    `constants` are the placeholders whose tensors stay the same from call to call.
    """
    alone, with_others, by_itself = [], [], []
    kept = constants - _written(graph_module)
    for node in graph_module.graph.nodes:
        if not _is_plain(node):
            continue
        if _is_product(node, kept):
            alone.append(node.name)
        elif is_half_product(node):
            by_itself.append(node.name)
        elif _is_loop(node):
            with_others.append(node.name)
    return alone, with_others, by_itself


def weight_of(node):
    """The matrix of `mm` and `addmm` that a packed form can be kept of; None for other operators."""
    if str(node.target) == "aten.mm.default":
        return node.args[1]
    scaled = any(node.kwargs.get(name, 1) != 1 for name in ("alpha", "beta"))
    return node.args[2] if str(node.target) == "aten.addmm.default" and not scaled else None


def base_of(node):
    """What a view, also of a view, shows."""
    while isinstance(node.target, torch._ops.OpOverload) and node.args \
            and isinstance(node.args[0], torch.fx.Node) and is_view(node):
        node = node.args[0]
    return node


def is_view(node):
    """True for an operator whose result shows an operand's memory."""
    return any(result.alias_info is not None and not result.alias_info.is_write
               for result in node.target._schema.returns)


def _written(graph_module):
    """The placeholders and constants that some operator changes."""
    return {base_of(written) for node in graph_module.graph.nodes
            if isinstance(node.target, torch._ops.OpOverload)
            for written in facts.written_nodes(node)}


def _tensors(node):
    found = []
    for item in [*node.all_input_nodes, node]:
        value = item.meta.get("val")
        found += value if isinstance(value, (list, tuple)) else [value]
    return [value for value in found if isinstance(value, torch.Tensor)]


def _is_plain(node):
    target = node.target
    if not isinstance(target, torch._ops.OpOverload) or target.namespace not in ("aten", "prims"):
        return False
    if target._schema.is_mutable or facts.effects(node) or is_wait(node):
        return False
    return all(value.dtype in _DTYPES and value.layout is torch.strided and value.dim() <= 8
               for value in _tensors(node))


def _is_loop(node):
    name = node.target._opname
    if torch.Tag.pointwise not in node.target.tags and name not in _OTHERS \
            and str(node.target) != "prims.convert_element_type.default":
        return False
    if name in _NO_INTEGERS:
        return all(value.dtype.is_floating_point for value in _tensors(node))
    return True


def _is_product(node, constants):
    weight = weight_of(node)
    if weight is None or base_of(weight) not in constants:
        return False
    value, rows = weight.meta["val"], node.meta["val"].size(0)
    if value.dtype in _HALF:
        return True
    return value.dtype is torch.float32 and _FEWEST_ROWS <= rows <= _MOST_ROWS
