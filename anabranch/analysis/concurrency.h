// How many streams can be busy at the same moment as an operator.
#pragma once

#include <cstdint>
#include <vector>

#include "anabranch/analysis/happens_before.h"
#include "anabranch/ir/graph.h"
#include "anabranch/schedule/schedule.h"

namespace anabranch {

/// By NodeId: the number of streams, its own included, that have a kernel (an operator that is no
/// wait and no collective) which may run at the same moment; 0 for what runs no kernel. Time is
/// streams × waits, for operators between two synchronisations of their stream share one answer.
std::vector<uint32_t> concurrent_streams(const Graph& graph, const Schedule& schedule,
                                         const HappensBefore& order);

}  // namespace anabranch
