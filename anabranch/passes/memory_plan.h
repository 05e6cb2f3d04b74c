// Where intermediate buffers lie in a call's arena.
#pragma once

#include <cstdint>
#include <vector>

#include "anabranch/analysis/happens_before.h"
#include "anabranch/ir/graph.h"
#include "anabranch/schedule/schedule.h"

namespace anabranch::passes {

/// What the plan came to, in bytes.
struct MemoryReport {
  size_t placed = 0;        // buffers in the arena
  int64_t arena = 0;        // its size
  int64_t lower_bound = 0;  // no arena can be smaller: what lives at once when operators run in
                            // program order, which every schedule allows
  int64_t unshared = 0;     // the size if no two buffers shared bytes
  size_t reuse_edges = 0;   // orders that exist for the sake of memory alone (order_reuse)
};

/// memory_plan.cpp: gives a placement to each buffer of `schedule.buffers` that is `placeable` (by
/// BufferId) and whose size is known; `order` is the schedule's. Two buffers share bytes only if
/// all last users of one happen before the operator that makes the other. Offsets are multiples of
/// 64 bytes.
MemoryReport plan_memory(const Graph& graph, Schedule& schedule, const HappensBefore& order,
                         const std::vector<bool>& placeable);

/// reuse_order.cpp: adds the Effect edges that make the placements of `serial`, a schedule in
/// program order, right for any streams: every user of a buffer comes before the operator that
/// makes another one on its bytes. Returns how many edges were added.
size_t order_reuse(Graph& graph, const Schedule& serial);

/// Puts the buffers of `schedule` where `plan` has them; both launch the same operators, and what
/// is ordered in `plan` is ordered in `schedule`.
void copy_placements(const Schedule& plan, Schedule& schedule);

}  // namespace anabranch::passes
