"""Splits AOTAutograd's joint graph of forward and backward: random operators and prints run once.

torch keeps unused random operators here (see `fallback_random` in capture.py), which its own
partitioner does not expect.
"""

import operator

import torch
from torch._functorch.partitioners import default_partition

from anabranch import markers
from anabranch.printing import print_operator


def partition(joint_module, joint_inputs, **keywords):
    """(forward, backward), as AOTAutograd's `partition_fn`."""
    graph = joint_module.graph
    for node in list(graph.nodes):
        if _is_random(node) and not node.users and isinstance(node.meta.get("val"), (tuple, list)):
            _read_first(graph, node)
    forward, backward = default_partition(joint_module, joint_inputs, **keywords)
    done = {node.name for node in forward.graph.nodes if _acts_once(node)}
    # The forward has drawn these numbers, so a copy that nobody reads must not draw others.
    backward.graph.eliminate_dead_code(
        lambda node: node.is_impure() and not (_acts_once(node) and node.name in done))
    backward.recompile()
    return forward, backward


def _is_random(node):
    return (isinstance(node.target, torch._ops.OpOverload)
            and torch.Tag.nondeterministic_seeded in node.target.tags)


def _acts_once(node):
    return _is_random(node) or node.target in (markers.wait_dep, print_operator)


def _read_first(graph, node):
    """Without a reader the partitioner takes an operator of several results for one tensor."""
    with graph.inserting_after(node):
        reader = graph.call_function(operator.getitem, (node, 0))
    reader.meta = {**node.meta, "val": node.meta["val"][0]}
    reader.meta.pop("tensor_meta", None)
