// Which buffers must be there while an operator runs.
#pragma once

#include "anabranch/ir/graph.h"
#include "anabranch/ir/uses.h"

namespace anabranch::passes {

/// Calls `visit(BufferId)` for each buffer of the graph that the operator uses, repeated as used.
/// A wait reads nothing, but hands its buffers on: they must still be there.
template <class Visit>
void for_each_buffer_in_use(const Graph& graph, const UseTable& uses, NodeId node, Visit&& visit) {
  for (const Use& use : uses.of(node)) {
    if (!uses.is_resource(use.buffer)) visit(use.buffer);
  }
  if (graph.node(node).kind != NodeKind::Wait) return;
  for (ValueId result : graph.node(node).results) {
    if (const TensorType* type = graph.value(result).tensor()) visit(type->buffer);
  }
}

}  // namespace anabranch::passes
