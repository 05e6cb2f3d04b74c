// The whole compilation. Each stage ends with a read-only check of what it made, so that a fault is
// found by the stage that made it.
#include "anabranch/passes/pipeline.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "anabranch/verify/verify.h"

namespace anabranch::passes {
namespace {

void require_legal(const std::vector<Diagnostic>& findings) {
  if (verify::has_errors(findings)) throw Error(findings);
}

/// Plans the arena as if there were one stream, and makes the streams respect it.
void plan_small(const PipelineOptions& options, Compiled& compiled) {
  Graph& graph = compiled.graph;
  compiled.serial = serial_schedule(graph);
  HappensBefore order(graph, compiled.serial);
  plan_buffers(graph, compiled.serial, order);
  compiled.memory = plan_memory(graph, compiled.serial, order, options.placeable(graph));
  compiled.memory.reuse_edges = order_reuse(graph, compiled.serial);
}

void note(Compiled& compiled, std::optional<Diagnostic> said) {
  if (said) compiled.diagnostics.push_back(std::move(*said));
}

/// Completes the graph: all orders that the program needs, and the order in which it is launched.
void order_graph(const PipelineOptions& options, Compiled& compiled) {
  Graph& graph = compiled.graph;
  if (options.verify) require_legal(verify::check_graph(graph));

  // Waits first: later passes should see them as edges, and a wait's meaning ("what wrote the
  // dependency so far") is about the program as the user wrote it.
  resolve_waits(graph);
  compiled.original = graph;

  // Effects before streams: the order of effects is a fact of the program, wherever it runs.
  order_effects(graph);
  if (options.verify) require_legal(verify::check_graph(graph));

  // The launch order after effects, which it must keep, and before streams: whatever comes later
  // sees the new order as program order.
  if (options.launch_order != LaunchOrder::Program) {
    Graph before;
    if (options.verify) before = graph;
    order_launches(graph, options.launch_order);
    if (options.verify) require_legal(verify::check_reordered(before, graph));
    if (options.verify) require_legal(verify::check_graph(graph));
  }
  if (options.small_memory && options.placeable) plan_small(options, compiled);
}

/// Says where each operator runs: the user's labels first, and what the compiler adds keeps to
/// them.
void place_streams(const PipelineOptions& options, const CostModel& costs,
                   const std::vector<int>& caps, Compiled& compiled) {
  Graph& graph = compiled.graph;
  if (!options.multi_stream && !options.single_stream) return idle_streams(graph);
  compiled.diagnostics = assign_streams(graph, options.single_stream);
  if (options.single_stream) return;
  place_inner_streams(graph);
  note(compiled, place_automatic_streams(graph, options.auto_streams, costs, caps));
}

/// Events before buffers, cores and memory: all depend on what can run at the same moment.
void make_schedule(const PipelineOptions& options, const CostModel& costs,
                   const std::vector<int>& caps, Compiled& compiled) {
  const Graph& graph = compiled.graph;
  Schedule& schedule = compiled.schedule;
  schedule = place_events(graph, &compiled.events);
  HappensBefore order(graph, schedule);
  plan_buffers(graph, schedule, order);
  share_cores(graph, schedule, order, options.cores, caps);
  if (options.fold) {
    if (auto folded = fold_streams(graph, schedule, order, costs, caps)) {
      note(compiled, std::move(folded));
      share_cores(graph, schedule, order, options.cores, caps);  // fewer threads share them now
    }
  }
  for (Diagnostic& found : check_core_limits(graph, schedule, order, options.limits)) {
    compiled.diagnostics.push_back(std::move(found));
  }
  if (options.small_memory) {
    copy_placements(compiled.serial, schedule);
  } else if (options.placeable) {
    compiled.memory = plan_memory(graph, schedule, order, options.placeable(graph));
  }
  if (options.verify) require_legal(verify::check_schedule(graph, schedule));
}

/// The way out at run time, when the facts of one call differ from those of capture.
void make_serial(const PipelineOptions& options, const std::vector<int>& caps, Compiled& compiled) {
  const Graph& graph = compiled.graph;
  compiled.serial = serial_schedule(graph);
  HappensBefore order(graph, compiled.serial);
  plan_buffers(graph, compiled.serial, order);
  share_cores(graph, compiled.serial, order, options.cores, caps);
  copy_placements(compiled.schedule, compiled.serial);
  if (options.verify) require_legal(verify::check_schedule(graph, compiled.serial));
}

}  // namespace

Compiled compile(Graph captured, const PipelineOptions& options) {
  Compiled compiled;
  compiled.graph = std::move(captured);
  order_graph(options, compiled);

  // From here on the graph is complete; streams only say where each operator runs.
  DeviceProfile profile;
  profile.cores = std::max(options.cores, options.machine_cores);
  profile.threads = options.cores;
  CostModel costs(compiled.graph, profile, options.durations);
  compiled.caps = thread_caps(compiled.graph, options.limits, options.cores);
  place_streams(options, costs, compiled.caps, compiled);
  make_schedule(options, costs, compiled.caps, compiled);
  make_serial(options, compiled.caps, compiled);
  return compiled;
}

}  // namespace anabranch::passes
