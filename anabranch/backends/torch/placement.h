// Which buffers ATen's kernels can make in planned memory.
#pragma once

#include <vector>

#include "anabranch/ir/graph.h"

namespace anabranch::torch_backend {

/// By BufferId: true if an operator that may keep its operands uses the buffer: one from outside
/// torch, a control operator, a collective, or one that reshapes its operand.
std::vector<bool> kept_buffers(const Graph& graph);

/// By BufferId: see KernelSet::placeable. True for results of known size of ATen operators with an
/// out variant, unless the buffer may be kept.
std::vector<bool> placeable_buffers(const Graph& graph);

}  // namespace anabranch::torch_backend
