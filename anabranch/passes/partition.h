// How automatic streams divide the operators that they may move; auto_streams.h says what each
// division means.
#pragma once

#include <cstdint>
#include <vector>

#include "anabranch/analysis/cost.h"
#include "anabranch/ir/graph.h"
#include "anabranch/passes/dependencies.h"

namespace anabranch::passes {

/// A place inside an operator's group: 0 is the group's own stream, 1 to 63 further ones, then
/// these.
using Slot = uint8_t;
inline constexpr Slot kVectorSlot = 64, kCommunicationSlot = 65, kCopySlot = 66, kSlotCount = 67;

/// By NodeId. Operators that may not move, and what is not launched, are in slot 0.
using Partition = std::vector<Slot>;

/// Computes partitions of one graph, whose streams are the groups. Keeps references to both
/// arguments.
class Partitioner {
 public:
  Partitioner(const Graph& graph, const CostModel& costs);

  Partition by_class() const;
  /// `apart`: communication and copies without label have slots of their own.
  Partition balanced(int streams, bool apart) const;
  Partition main_chain(int streams, bool apart) const;

  /// Nanoseconds of the longest chain of required order, and of all operators together, each with
  /// all cores.
  double longest_chain() const;
  double total() const;

 private:
  bool may_move(NodeId node) const { return movable_[node.index()]; }
  bool unlabelled(NodeId node) const;
  Slot apart_slot(NodeId node) const;
  Partition spread(const std::vector<bool>& stays, Slot first, int streams, bool apart) const;

  const Graph& graph_;
  const CostModel& costs_;
  Dependencies dependencies_;
  std::vector<bool> movable_;
};

}  // namespace anabranch::passes
