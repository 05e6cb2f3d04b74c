// The order in which a host thread hands operators to their streams: program order, or one of GE's
// topological orders.
//
// What counts are the launched operators (operators and waits) and their dependencies: data,
// through views and sizes, waits, and the order of effects. So conflicting uses of memory keep the
// order of the program in every one of these orders. `consumers` and `predecessors` mean direct
// ones here.
#pragma once

#include <cstdint>
#include <string_view>

#include "anabranch/ir/graph.h"

namespace anabranch::passes {

enum class LaunchOrder : uint8_t {
  /// As captured.
  Program,
  /// Kahn's algorithm with a queue. It begins with the operators that depend on nothing, in program
  /// order; a launch appends those of its consumers that now wait for nothing, in program order. So
  /// operators come level by level, a level being the longest chain of dependencies before them.
  BFS,
  /// Kahn's algorithm with a stack: the same, but the consumers that a launch has made ready come
  /// next, in program order, before all that was ready earlier. So a branch is followed to its end.
  DFS,
  /// Depth first against the edges, operators in post-order: an operator comes right after what it
  /// alone needs. Starts at the producers of the results, in the order of `return`, then at the
  /// operators without consumers, in program order; goes through data operands in operand order,
  /// then through the other
  /// predecessors in program order.
  RDFS,
  /// Stable: depth first against the edges too, but starting at every operator in program order. As
  /// captured graphs have all predecessors before an operator, none of them moves: GE's promise for
  /// this mode is that only operators that the compiler adds find a new place.
  StableRDFS,
};

std::string_view to_string(LaunchOrder order);
/// "BFS", "DFS", "RDFS", "StableRDFS"; "" is Program. Throws Error ("launch-order") that lists
/// them.
LaunchOrder parse_launch_order(std::string_view name);

/// Puts the graph's nodes in the order. Inputs and constants come first, as they were; a view or a
/// size comes right after the last operator that it depends on. Run after order_effects: only edges
/// hold operators back. Bodies keep program order. Linear time up to a sort.
void order_launches(Graph& graph, LaunchOrder order);

}  // namespace anabranch::passes
