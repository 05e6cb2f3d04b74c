// Command lists from decisions.
#pragma once

#include <vector>

#include "anabranch/ir/graph.h"
#include "anabranch/schedule/schedule.h"

namespace anabranch::passes {

/// Per stream the launches in program order. `waits` gives by NodeId whom an operator waits for:
/// its wait commands stand right before its launch, the record right after the launch of whom it
/// waits for. One event per recorded operator, numbered by program position.
Schedule build_schedule(const Graph& graph, const std::vector<std::vector<NodeId>>& waits);

}  // namespace anabranch::passes
