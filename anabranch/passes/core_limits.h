// Limits on the cores that operators may use: `limit_core_num` and ge_config.aicore_num.
//
// A limit counts cores of a target device, cube cores for cube operators and vector cores for the
// others (analysis/operator_class.h). On CPU threads it stands for its share of the device: at most
// max(1, floor(cores × limit / device cores)) threads. An operator's own limit, written by a scope,
// wins over the graph's. Operators whose bits depend on the thread count (thread_sensitive.h) keep
// the caller's: a limit never changes a result.
#pragma once

#include <string_view>
#include <vector>

#include "anabranch/analysis/happens_before.h"
#include "anabranch/base/diagnostic.h"
#include "anabranch/ir/graph.h"
#include "anabranch/schedule/schedule.h"

namespace anabranch::keys {
inline constexpr std::string_view kCubeCores = "_op_aicore_num";
inline constexpr std::string_view kVectorCores = "_op_vectorcore_num";
}  // namespace anabranch::keys

namespace anabranch::passes {

struct CoreCount {
  int cube = 0;
  int vector = 0;
};

/// "8|16" → {8, 16}. Throws Error ("core-limit") unless it is two numbers of at least 1.
CoreCount parse_core_count(std::string_view text);

struct CoreLimits {
  CoreCount graph;           // 0: no limit
  CoreCount device{24, 48};  // the cores that limits are shares of
};

/// By NodeId: at most how many of `cores` threads a launched operator may use; 0: no limit. A
/// control operator gets the smallest of its own and of what is inside its bodies. Throws Error
/// ("core-limit") for an attribute that is no number of at least 1.
std::vector<int> thread_caps(const Graph& graph, const CoreLimits& limits, int cores);

/// A warning ("core-limit") when limited operators of several streams can run at the same moment
/// and their limits sum above the device; at most one, about the first such operators.
std::vector<Diagnostic> check_core_limits(const Graph& graph, const Schedule& schedule,
                                          const HappensBefore& order, const CoreLimits& limits);

}  // namespace anabranch::passes
