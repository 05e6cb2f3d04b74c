// Which operators run side by side, one core each, and which one after the other with all cores.
#pragma once

#include <string>
#include <vector>

#include "anabranch/analysis/operator_times.h"
#include "anabranch/ir/graph.h"
#include "anabranch/schedule/schedule.h"

namespace anabranch::passes {

/// A schedule whose streams are lanes (Schedule::lanes), and what it is expected to take.
struct CorePlan {
  Schedule schedule;
  double ns = 0;
  size_t wide = 0;   // operators that run alone, with all cores
  size_t split = 0;  // of all operators, those that are cut into parts
};

/// True if the operators of `logical`, a verified schedule of the graph with a stream for each
/// label, may be put on cores whatever their labels: all streams have one priority, and there are
/// no collectives, no control operators, no super_kernel scopes, no symbolic sizes, no operators
/// that do more than compute, and not too many operators to try several plans.
bool may_place_on_cores(const Graph& graph, const Schedule& logical);

/// Everything on the calling thread, in program order, each operator in its fastest way. `caps` as
/// in share_cores.
CorePlan one_lane(const Graph& graph, const Schedule& logical, const OperatorTimes& times,
                  const std::vector<int>& caps);

/// Plans on several lanes, best first; all keep what `logical` orders: the order of each label's
/// operators, waits, data and effects. Buffers have the places that `logical` gives them. Empty if
/// nothing can run side by side.
///
/// Method: list scheduling by earliest start (Hwang, Chow, Anger and Lee, "Scheduling precedence
/// graphs in systems with interprocessor communication times", SIAM Journal on Computing 18(2),
/// 1989), of equal starts the longest remaining path first, in which an operator is either on one
/// lane or, wide, on all. Which are wide is decided before: those that make use of all cores to a
/// given share, for several shares, and those beside which the first attempt leaves all other lanes
/// idle. An operator whose bits depend on the thread count is always wide. `cross_ns` is what it
/// costs to wait for another lane.
std::vector<CorePlan> place_on_cores(const Graph& graph, const Schedule& logical,
                                     const OperatorTimes& times, const std::vector<int>& caps,
                                     double cross_ns);

}  // namespace anabranch::passes
