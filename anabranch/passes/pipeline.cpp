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

}  // namespace

Compiled compile(Graph captured, const PipelineOptions& options) {
  Compiled compiled;
  Graph& graph = compiled.graph;
  graph = std::move(captured);
  auto note = [&](std::optional<Diagnostic> said) {
    if (said) compiled.diagnostics.push_back(std::move(*said));
    return said.has_value();
  };
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

  // From here on the graph is complete; streams only say where each operator runs.
  DeviceProfile profile;
  profile.cores = std::max(options.cores, options.machine_cores);
  profile.threads = options.cores;
  CostModel costs(graph, profile, options.durations);
  std::vector<int> caps = thread_caps(graph, options.limits, options.cores);
  if (options.multi_stream || options.single_stream) {
    compiled.diagnostics = assign_streams(graph, options.single_stream);
    if (!options.single_stream) {
      // The user's labels first: what the compiler adds keeps to them.
      place_inner_streams(graph);
      note(place_automatic_streams(graph, options.auto_streams, costs, caps));
    }
  } else {
    idle_streams(graph);
  }

  // Events before buffers and cores: both depend on what can run at the same moment.
  compiled.schedule = place_events(graph, &compiled.events);
  plan_buffers(graph, compiled.schedule);
  share_cores(graph, compiled.schedule, options.cores, caps);
  if (options.fold && note(fold_streams(graph, compiled.schedule, costs, caps)))
    share_cores(graph, compiled.schedule, options.cores, caps);  // fewer threads share them now
  for (Diagnostic& found : check_core_limits(graph, compiled.schedule, options.limits)) {
    compiled.diagnostics.push_back(std::move(found));
  }
  if (options.verify) require_legal(verify::check_schedule(graph, compiled.schedule));

  // The way out at run time, when the facts of one call differ from those of capture.
  compiled.serial = serial_schedule(graph);
  plan_buffers(graph, compiled.serial);
  share_cores(graph, compiled.serial, options.cores, caps);
  if (options.verify) require_legal(verify::check_schedule(graph, compiled.serial));
  return compiled;
}

}  // namespace anabranch::passes
