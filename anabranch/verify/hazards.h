// The hazards of a schedule: pairs of operators that the program orders and the schedule must too.
#pragma once

#include <vector>

#include "anabranch/base/diagnostic.h"
#include "anabranch/ir/graph.h"
#include "anabranch/ir/uses.h"
#include "anabranch/schedule/schedule.h"
#include "anabranch/verify/replay.h"

namespace anabranch::verify {

/// race-raw, race-war, race-waw, order-data, order-wait, order-effect. A pair is reported once,
/// under the first rule that finds it. Complete: if any two conflicting uses are unordered, some
/// pair is reported; pairs that follow from reported ones may be left out.
void check_hazards(const Graph& graph, const UseTable& uses, const Schedule& schedule,
                   const Replay& replay, std::vector<Diagnostic>& findings);

/// buffer-unknown, buffer-twice, acquire-late, release-early, release-missing, buffers-overlap.
void check_lifetimes(const Graph& graph, const UseTable& uses, const Schedule& schedule,
                     const Replay& replay, std::vector<Diagnostic>& findings);

/// lanes-many, cores-shared, stream-order. Only for a schedule with lanes.
void check_lanes(const Graph& graph, const Schedule& schedule, const Replay& replay,
                 std::vector<Diagnostic>& findings);

}  // namespace anabranch::verify
