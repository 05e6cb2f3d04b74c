// Read-only checkers. They recompute everything they need from (Graph, Schedule) and share nothing
// with the passes but the conflict rule of ir/conflict.h. All findings are reported, not the first.
#pragma once

#include <vector>

#include "anabranch/base/diagnostic.h"
#include "anabranch/ir/graph.h"
#include "anabranch/schedule/schedule.h"

namespace anabranch::verify {

/// The graph alone. Rules: value-undefined, stream-unknown, buffer-unknown, control-backward,
/// duplicate-name, write-not-operand, view-buffer, size-tensor, wait-form, wait-unmatched. Bodies
/// of control operators are checked too.
std::vector<Diagnostic> check_graph(const Graph& graph);

/// The schedule against the graph. Rules (one per name): launch-missing, launch-twice,
/// launch-unknown, wrong-stream (not when the schedule has one stream), event-recorded-twice,
/// event-not-recorded, deadlock, race-raw, race-war, race-waw, order-data, order-wait,
/// order-effect, buffer-unknown, buffer-twice, acquire-late, release-early, release-missing,
/// placement-small, placement-symbolic, buffers-overlap. With lanes also: lanes-many, cores-shared,
/// stream-order, instead of wrong-stream.
std::vector<Diagnostic> check_schedule(const Graph& graph, const Schedule& schedule);

/// A graph whose nodes were put in another order, against the graph before. Rules: reorder-nodes
/// (something else changed than the order), reorder-inputs (inputs or constants changed places),
/// and those of check_schedule for two operators whose order had to stay.
std::vector<Diagnostic> check_reordered(const Graph& before, const Graph& after);

/// True if any finding is an error.
bool has_errors(const std::vector<Diagnostic>& findings);

}  // namespace anabranch::verify
