// The whole compilation. Each stage ends with a read-only check of what it made, so that a fault is
// found by the stage that made it.
#include "anabranch/passes/pipeline.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "anabranch/ir/step.h"
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

CostModel cost_model(const PipelineOptions& options, const Graph& graph) {
  DeviceProfile profile;
  profile.cores = std::max(options.cores, options.machine_cores);
  profile.threads = options.cores;
  return CostModel(graph, profile, options.durations);
}

/// Tells the kernels among the steps what their region's operators would cost, so that nothing is
/// placed or folded by a guess.
void share_cost(const CostModel& costs, const Region& region, Graph& steps) {
  auto is_kernel = [](const Node& node) { return node.op == step::kKernel; };
  auto kernels =
      static_cast<double>(std::count_if(steps.nodes.begin(), steps.nodes.end(), is_kernel));
  if (kernels == 0) return;
  double cube = 0, vector = 0;
  for (NodeId id : region.operators) {
    const OperatorCost& cost = costs.cost(id);
    if (!cost.known) return;
    (cost.operator_class == OperatorClass::Cube ? cube : vector) += cost.flops;
  }
  std::vector<int64_t> flops{static_cast<int64_t>(cube / kernels),
                             static_cast<int64_t>(vector / kernels)};
  for (Node& node : steps.nodes) {
    if (is_kernel(node)) node.attributes[std::string(step::kFlops)] = flops;
  }
}

/// Regions last of all that changes the graph: what is fused must not hide from the passes before
/// what the user wrote, and all that comes later sees the steps as ordinary operators.
void put_steps_in(const PipelineOptions& options, const std::vector<Region>& regions,
                  RegionSteps steps, Compiled& compiled) {
  CostModel costs = cost_model(options, compiled.graph);
  std::vector<const Graph*> chosen(regions.size(), nullptr);
  bool any = false;
  for (size_t i = 0; i < regions.size() && i < steps.of_region.size(); ++i) {
    if (steps.of_region[i] == RegionSteps::kKeep) continue;
    Graph& graph = steps.graphs.at(steps.of_region[i]);
    share_cost(costs, regions[i], graph);
    chosen[i] = &graph;
    any = true;
  }
  if (!any) return;
  compiled.before_regions = compiled.graph;
  replace_regions(compiled.graph, regions, chosen);
  if (options.verify) require_legal(verify::check_graph(compiled.graph));
}

}  // namespace

Plan make_plan(Graph captured, const PipelineOptions& options, const Fusible& fusible) {
  Plan plan;
  plan.options = options;
  plan.compiled.graph = std::move(captured);
  order_graph(options, plan.compiled);

  // From here on the graph is complete; streams only say where each operator runs.
  const Graph& graph = plan.compiled.graph;
  plan.compiled.caps = thread_caps(graph, options.limits, options.cores);
  place_streams(options, cost_model(options, graph), plan.compiled.caps, plan.compiled);
  bool small = options.small_memory && options.placeable;
  if (fusible && !small) plan.regions = find_regions(graph, fusible);
  return plan;
}

Compiled finish(Plan plan, RegionSteps steps) {
  const PipelineOptions& options = plan.options;
  Compiled compiled = std::move(plan.compiled);
  put_steps_in(options, plan.regions, std::move(steps), compiled);
  compiled.caps = thread_caps(compiled.graph, options.limits, options.cores);
  make_schedule(options, cost_model(options, compiled.graph), compiled.caps, compiled);
  make_serial(options, compiled.caps, compiled);
  return compiled;
}

Compiled compile(Graph captured, const PipelineOptions& options) {
  return finish(make_plan(std::move(captured), options), {});
}

}  // namespace anabranch::passes
