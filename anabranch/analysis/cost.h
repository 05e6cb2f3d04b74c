// What one operator costs, from the shapes and dtypes in the graph: enough to compare placements.
//
// Method: the roofline model (Williams, Waterman and Patterson, "Roofline: an insightful visual
// performance model for multicore architectures", Communications of the ACM 52(4), 2009). An
// operator takes the longer of its arithmetic at peak rate and its memory traffic at full
// bandwidth, plus a fixed cost for each launch. Measured durations replace the estimate.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "anabranch/analysis/operator_class.h"
#include "anabranch/ir/graph.h"
#include "anabranch/schedule/timeline.h"

namespace anabranch {

/// What a size symbol counts as when a cost needs a number.
inline constexpr int64_t kSymbolHint = 256;

/// Rates of a device. The defaults are a small CPU: an AVX2 core of about 3 GHz, ATen's kernels.
/// Rates are operations or bytes per nanosecond (so 1e9 a second), times are nanoseconds.
struct DeviceProfile {
  int cores = 1;
  int threads = 0;           // intra-op threads of an operator that has no limit; 0: cores
  double cube_f32 = 40;      // products of one core; f64 runs at half of it
  double cube_narrow = 2;    // f16, bf16, integers: a scalar loop, which always has one thread
  double vector_wide = 4;    // f32 and f64 elements of one core
  double vector_narrow = 1;  // elements of other types, which are converted
  double core_bandwidth = 8;
  double bandwidth = 16;  // of all cores together
  double launch_ns = 1500;
  double wait_ns = 10000;  // until another thread goes on after an event: a parked thread wakes
  double threading_ns = 10000;  // opening a region with several intra-op threads
  int64_t grain = 32768;        // elements below which ATen uses one thread
};

/// What a run took: nanoseconds, with how many intra-op threads (0: all cores). With `one_ns`,
/// which is what it takes on one thread, nothing has to be estimated.
struct MeasuredDuration {
  double ns = 0;
  int threads = 0;
  double one_ns = 0;
};
/// By operator name ("mm_1").
using MeasuredDurations = std::unordered_map<std::string, MeasuredDuration>;

/// The median duration of each operator over the recorded calls. `program` is a graph's name; if no
/// span has it, all spans count.
MeasuredDurations measured_durations(const Timeline& timeline, const std::string& program);

struct OperatorCost {
  double flops = 0;
  double bytes = 0;
  double rate = 1;  // flops per nanosecond of one core
  OperatorClass operator_class = OperatorClass::Vector;
  int widest = 1;      // more threads make it no faster
  bool known = false;  // false: a guess (no formula for the operator, a symbolic size, a wait for
                       // others), good enough to balance by, not to give parallelism up for
};

/// Costs of the operators of one graph. Immutable; keeps nothing of the graph. Safe to ask from
/// many threads.
class CostModel {
 public:
  CostModel(const Graph& graph, const DeviceProfile& profile,
            const MeasuredDurations& measured = {});

  /// What is not an operator (views, sizes, waits) costs nothing and is known.
  const OperatorCost& cost(NodeId node) const { return costs_[node.index()]; }
  /// Intra-op threads of a launch: `threads`, or the profile's when 0, at most the cores.
  int used_threads(int threads) const;
  /// Duration with so many intra-op threads, launch included. A measured duration
  /// is scaled by the estimate's ratio when it was measured with another number of threads; between
  /// two of them it follows OperatorTimes.
  double nanoseconds(NodeId node, int threads) const;

  const DeviceProfile& profile() const { return profile_; }

 private:
  double roofline(const OperatorCost& cost, int threads) const;

  DeviceProfile profile_;
  std::vector<OperatorCost> costs_;  // by NodeId
  std::vector<bool> runs_;           // by NodeId: it has a kernel
  std::unordered_map<NodeId, MeasuredDuration> measured_;
};

}  // namespace anabranch
