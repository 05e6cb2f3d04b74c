"""Marker operators: how scopes and waits travel through Dynamo.

A marker computes nothing. It stands in Dynamo's graph at the place where the user's program entered
a scope or called a wait; anabranch.lower reads the markers and erases them. Only ``wait_dep`` lives
on until the graph text is written: it keeps the awaited tensor in the graph.
"""

import torch

_library = torch.library.Library("ab", "DEF")

_SCHEMAS = {
    "scope_enter": "(str[] attributes) -> ()",
    "scope_exit": "() -> ()",
    "error": "(str kind, str message) -> ()",
    "wait_mark": "(Tensor tensor, Tensor dependency) -> ()",
    "wait_dep": "(Tensor dependency, int number) -> ()",
    "wait_marks": "(Tensor[] marks) -> ()",
    "event_record": "(str event) -> ()",
    "event_wait": "(str event) -> ()",
}

for _name, _schema in _SCHEMAS.items():
    _library.define(_name + _schema)
    _library.impl(_name, lambda *arguments: None, "CompositeExplicitAutograd")
    torch.fx.node.has_side_effect(getattr(torch.ops.ab, _name).default)

# Fake tensors give every operator that makes a tensor from nothing a device.
_library.define("record_mark(*, Device? device=None) -> Tensor")
_library.impl(
    "record_mark", lambda device=None: torch.empty(0, device=device), "CompositeExplicitAutograd"
)
torch.fx.node.has_side_effect(torch.ops.ab.record_mark.default)

scope_enter = torch.ops.ab.scope_enter.default
scope_exit = torch.ops.ab.scope_exit.default
error = torch.ops.ab.error.default
wait_mark = torch.ops.ab.wait_mark.default
wait_dep = torch.ops.ab.wait_dep.default
wait_marks = torch.ops.ab.wait_marks.default
record_mark = torch.ops.ab.record_mark.default
event_record = torch.ops.ab.event_record.default
event_wait = torch.ops.ab.event_wait.default

ALL = frozenset(
    {scope_enter, scope_exit, error, wait_mark, wait_marks, record_mark, event_record, event_wait}
)
