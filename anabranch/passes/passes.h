// The passes, in the order in which passes/pipeline.cpp runs them. Each is one function in one file
// that says what it guarantees; each can be run alone on text (tests/passes).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "anabranch/analysis/cost.h"
#include "anabranch/analysis/happens_before.h"
#include "anabranch/base/diagnostic.h"
#include "anabranch/ir/graph.h"
#include "anabranch/schedule/schedule.h"

namespace anabranch::passes {

/// A required order between launched operators of two streams.
struct CrossEdge {
  NodeId from;
  NodeId to;
  std::string why;  // "data %x", "wait", "effect: buffer b3 (%x)"
};

/// Operators of one super_kernel scope that a stream launches as one.
struct UnitReport {
  std::vector<NodeId> operators;
  NodeId held_by;  // valid: their run was split before the first of them, which waits for this
};

/// What event placement decided, for logs and reports.
struct EventReport {
  std::vector<CrossEdge> placed;
  std::vector<CrossEdge> redundant;  // implied by the others, so no event
  std::vector<UnitReport> units;     // of super_kernel scopes
};

/// waits.cpp: pairs each `wait k` with its `wait_dependency k`; afterwards every Wait has control
/// edges from the last operators that wrote the dependency's memory (the producer, when nothing
/// wrote it since), and no WaitDependency is left. A Wait whose result nobody uses is removed.
void resolve_waits(Graph& graph);

/// effect_order.cpp: adds Effect control edges so that data edges ∪ control edges order every two
/// conflicting uses (ir/conflict.h) as the program does. Adds none that a direct data edge gives.
void order_effects(Graph& graph);

/// streams.cpp: gives every launched operator the stream of its label; the default stream when it
/// has none or "". Fills graph.streams in order of first appearance. `single_stream` puts all on
/// the default stream and throws Error ("single-stream", GE's E10055) if the graph has labels.
/// A super_kernel scope with several labels is put on the stream of its first operator
/// (super_kernel.h) and draws a warning. Writes `_stream_label` on operators of other streams, and
/// "" on those that a super_kernel scope takes back to the default stream. Throws Error
/// ("stream-priority") for a priority that is not an integer; returns warnings about labels with
/// several priorities, of which the smallest wins.
std::vector<Diagnostic> assign_streams(Graph& graph, bool single_stream);

/// inner_streams.cpp: moves communication and asynchronous copies of a label that allows inner
/// parallelism to streams "<tag>_comm" and "<tag>_copy". After assign_streams.
void place_inner_streams(Graph& graph);

/// streams.cpp: puts everything on the default stream; labels stay as captured, without effect.
void idle_streams(Graph& graph);

/// The launched operators that must complete before `node` starts, with the reason: data edges
/// (through views and sizes) and control edges. Sorted by NodeId, without duplicates. Walks the
/// whole graph; for many nodes use Dependencies (passes/dependencies.h).
std::vector<CrossEdge> required_predecessors(const Graph& graph, NodeId node);

/// events.cpp + schedule_builder.cpp: per stream the launches in program order, with the fewest
/// cross-stream waits: exactly the transitive reduction of stream order ∪ required edges, over the
/// units of launch_units.h. One event per recorded operator, numbered by program position. `report`
/// may be null.
Schedule place_events(const Graph& graph, EventReport* report);

/// schedule_builder.cpp: every launched operator in program order on the default stream.
Schedule serial_schedule(const Graph& graph);

// The passes below decide about a finished schedule; `order` is its happens-before, which none of
// them changes.

/// buffers.cpp: fills schedule.buffers: where each intermediate buffer is acquired and its last
/// uses.
void plan_buffers(const Graph& graph, Schedule& schedule, const HappensBefore& order);

/// fold.cpp: marks the streams whose own worker cannot pay by the costs (StreamProgram::folded).
/// After share_cores with the same caps, which must run again if anything was folded. Returns one
/// note with the reason if so.
std::optional<Diagnostic> fold_streams(const Graph& graph, Schedule& schedule,
                                       const HappensBefore& order, const CostModel& costs,
                                       const std::vector<int>& caps);

/// cores.cpp: sets Launch::threads so that operators that can run at the same moment share `cores`,
/// and Launch::exclusive for operators whose bits depend on the thread count. `caps`, empty or by
/// NodeId (core_limits.h), bounds the threads of an operator, also when it runs alone. Folded
/// streams count as the default stream.
void share_cores(const Graph& graph, Schedule& schedule, const HappensBefore& order, int cores,
                 const std::vector<int>& caps);

}  // namespace anabranch::passes
