// What each launched operator must come after: data and control edges, with views and sizes looked
// through. One walk for the whole graph.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "anabranch/ir/graph.h"
#include "anabranch/ir/uses.h"

namespace anabranch::passes {

enum class DependencyKind : uint8_t { Data, Wait, Effect };

struct Dependency {
  NodeId from;  // always launched
  DependencyKind kind = DependencyKind::Data;
  ValueId value;  // Data: the operand that carries it; invalid when a size expression does
};

/// Immutable; keeps nothing of the graph.
class Dependencies {
 public:
  explicit Dependencies(const Graph& graph);

  /// Sorted by `from`, one entry for each. For a view or a size: the launched operators behind it.
  std::span<const Dependency> of(NodeId node) const;

 private:
  std::vector<Dependency> all_;
  std::vector<size_t> first_;  // by node; one more at the end
};

/// Why `to` depends: "data %x", "wait", "effect: buffer b3 (%x)".
std::string why(const Graph& graph, const UseTable& uses, NodeId to, const Dependency& dependency);

/// By ValueId: the node that gave the value its contents as data edges show it: views, waits and
/// operators that hand an operand's memory on are looked through.
std::vector<NodeId> origins(const Graph& graph);

}  // namespace anabranch::passes
