// The whole compilation, from captured graph to verified schedule.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "anabranch/analysis/cost.h"
#include "anabranch/base/diagnostic.h"
#include "anabranch/passes/auto_streams.h"
#include "anabranch/passes/core_limits.h"
#include "anabranch/passes/launch_order.h"
#include "anabranch/passes/memory_plan.h"
#include "anabranch/passes/passes.h"
#include "anabranch/passes/regions.h"

namespace anabranch::passes {

struct PipelineOptions {
  bool single_stream = false;  // ge_config.enable_single_stream
  bool multi_stream = true;    // false: labels idle, everything on the default stream
  int cores = 1;               // intra-op threads that concurrent operators share
  int machine_cores = 0;       // cores that streams can keep busy; 0: as `cores`
  LaunchOrder launch_order = LaunchOrder::Program;  // topology_sorting_strategy
  CoreLimits limits;                                // ge_config.aicore_num, the device's cores
  bool verify = true;
  AutoStreams auto_streams;     // for operators that no user placed; idle without multi_stream
  bool fold = false;            // streams whose own worker cannot pay run on the calling thread
  MeasuredDurations durations;  // known durations, for automatic streams and folding
  bool small_memory = false;    // order operators so that they can share memory (order_reuse)
  /// By BufferId: what may be placed in an arena (KernelSet::placeable). Empty: nothing.
  std::function<std::vector<bool>(const Graph&)> placeable = {};
};

struct Compiled {
  Graph original;  // what the user wrote: waits resolved, no effect edges
  Graph graph;     // after all graph passes: what runs
  // Of a graph with regions: `graph` with the user's operators instead of the steps.
  std::optional<Graph> before_regions;
  Schedule schedule;  // on its streams
  Schedule serial;    // the same operators in the same order on one stream
  EventReport events;
  MemoryReport memory;
  std::vector<int> caps;                // by NodeId: core_limits.h
  std::vector<Diagnostic> diagnostics;  // warnings and notes; errors are thrown
};

/// A compilation that has come as far as its regions. Opaque but for these.
struct Plan {
  PipelineOptions options;
  Compiled compiled;
  std::vector<Region> regions;
};

/// The first half: orders the graph, places streams, cuts regions. Without `fusible`, and where
/// memory shall be small, there are none. Throws Error with every finding when the input is not
/// legal.
Plan make_plan(Graph captured, const PipelineOptions& options, const Fusible& fusible = {});

/// What is to run instead of regions: graphs of steps (see replace_regions), and for each region
/// the index of its graph, or kKeep for the operators as they are. Equal regions share one graph.
struct RegionSteps {
  static constexpr size_t kKeep = static_cast<size_t>(-1);
  std::vector<Graph> graphs;
  std::vector<size_t> of_region;
};
/// The second half: puts the steps in, makes the schedule, proves it. Throws Error.
Compiled finish(Plan plan, RegionSteps steps);

/// Both halves, without regions.
Compiled compile(Graph captured, const PipelineOptions& options);

}  // namespace anabranch::passes
