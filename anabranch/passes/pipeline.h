// The whole compilation, from captured graph to verified schedule.
#pragma once

#include <functional>
#include <vector>

#include "anabranch/analysis/cost.h"
#include "anabranch/base/diagnostic.h"
#include "anabranch/passes/auto_streams.h"
#include "anabranch/passes/core_limits.h"
#include "anabranch/passes/launch_order.h"
#include "anabranch/passes/memory_plan.h"
#include "anabranch/passes/passes.h"

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
  Graph original;     // what the user wrote: waits resolved, no effect edges
  Graph graph;        // after all graph passes
  Schedule schedule;  // on its streams
  Schedule serial;    // the same operators in the same order on one stream
  EventReport events;
  MemoryReport memory;
  std::vector<int> caps;                // by NodeId: core_limits.h
  std::vector<Diagnostic> diagnostics;  // warnings and notes; errors are thrown
};

/// Throws Error with every finding when the input or the result is not legal.
Compiled compile(Graph captured, const PipelineOptions& options);

}  // namespace anabranch::passes
