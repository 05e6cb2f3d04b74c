// The values that an operator reads, without a list of them.
#pragma once

#include "anabranch/ir/graph.h"

namespace anabranch {

/// Calls `visit(ValueId)` for each value that the node reads, in operand order, as written.
template <class Visit>
void for_each_operand(const Graph& graph, NodeId id, Visit&& visit) {
  for (const Operand& operand : graph.node(id).operands) for_each_value(operand.value, visit);
}

}  // namespace anabranch
