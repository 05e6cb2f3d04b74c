// What a stream launches as one: an operator, or a run of operators of one super_kernel scope.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "anabranch/ir/graph.h"
#include "anabranch/passes/dependencies.h"

namespace anabranch::passes {

/// Units in an order in which each comes after all that its operators depend on; the order nearest
/// to program order, and program order itself when no unit has several operators.
class LaunchUnits {
 public:
  struct Unit {
    size_t begin = 0, end = 0;  // into the launches
    NodeId held_by;  // of a run that had to be split before it: what its first operator waits for
  };

  const std::vector<Unit>& units() const { return units_; }
  /// In the order of their stream.
  std::span<const NodeId> operators(const Unit& unit) const {
    return {launches_.data() + unit.begin, unit.end - unit.begin};
  }
  uint32_t unit_of(NodeId node) const { return unit_of_[node.index()]; }

 private:
  friend class UnitWalk;
  std::vector<Unit> units_;
  std::vector<NodeId> launches_;   // unit after unit
  std::vector<uint32_t> unit_of_;  // by NodeId
};

/// Each maximal run of operators of one super_kernel scope that follow each other on their stream
/// is one unit: it starts when all that they wait for has completed, and what waits for one of them
/// waits for all. Where that would make units wait for each other in a circle, a run is split, at
/// the operator that cannot go on, so that a circle is broken with each split. Linear time up to
/// the choice among streams. Throws Error ("deadlock") if the graph itself has a circle.
LaunchUnits form_units(const Graph& graph, const Dependencies& dependencies);

}  // namespace anabranch::passes
