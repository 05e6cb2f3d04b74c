// What can run at the same moment as an operator.
#pragma once

#include <cstdint>
#include <vector>

#include "anabranch/analysis/happens_before.h"
#include "anabranch/ir/graph.h"
#include "anabranch/schedule/schedule.h"

namespace anabranch {

/// True for an operator that keeps cores busy while it runs: no wait and no collective.
bool computes(const Node& node);

/// For each operator and each other stream the launches that no order separates from it: a range of
/// the stream's list. Immutable after construction. Memory is streams × waits.
class ConcurrentLaunches {
 public:
  /// `order` must be of the same graph and schedule, and outlive this.
  ConcurrentLaunches(const Graph& graph, const Schedule& schedule, const HappensBefore& order);

  /// 1-based positions among the launches of a stream; empty when first > last.
  struct Range {
    uint32_t first = 1;
    uint32_t last = 0;
    bool empty() const { return first > last; }
  };
  /// The launches of `stream`, not the operator's own, that may run beside it.
  Range beside(NodeId node, StreamId stream) const;

  /// Neighbours on one stream with equal groups have the same launches beside them.
  struct Group {
    uint32_t before = 0, after = 0;
    bool operator==(const Group&) const = default;
  };
  Group group(NodeId node) const { return {order_.clock(node), clock_of_[node.index()]}; }

 private:
  const HappensBefore& order_;
  std::vector<uint32_t> launches_;             // by stream: how many it has
  std::vector<uint32_t> clock_of_;             // by NodeId
  std::vector<std::vector<uint32_t>> clocks_;  // by clock, by stream: the first launch after it
};

/// By NodeId: the number of streams, its own included, that have an operator that computes and may
/// run at the same moment; 0 for what does not compute. Folded streams count as the default stream,
/// which one thread walks with them. Time is streams × waits.
std::vector<uint32_t> concurrent_streams(const Graph& graph, const Schedule& schedule,
                                         const HappensBefore& order);

}  // namespace anabranch
