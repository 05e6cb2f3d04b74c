// How long one call of a schedule takes by the costs of its operators.
#pragma once

#include <cstddef>
#include <span>

#include "anabranch/analysis/cost.h"
#include "anabranch/ir/graph.h"
#include "anabranch/schedule/schedule.h"

namespace anabranch {

/// Nanoseconds from the call to its return.
///
/// Discrete-event walk: the streams of one lane are merged in program order and run one after the
/// other; lane 0 is the caller, any other lane begins after `wait_ns` and its end is seen after
/// `wait_ns`. An operator starts when its lane is free, the events that its stream waits for have
/// arrived (`wait_ns` after the record when that happened on another lane), and as many cores are
/// free as it has threads; of several, the one of the smaller priority number and then the earlier
/// in the program starts first. `lanes` gives each stream's lane by StreamId; `wait_ns` replaces
/// the profile's. Time is launches × log lanes. The schedule must be free of deadlock.
double predict_makespan(const Graph& graph, const Schedule& schedule, std::span<const size_t> lanes,
                        const CostModel& costs, double wait_ns);

}  // namespace anabranch
