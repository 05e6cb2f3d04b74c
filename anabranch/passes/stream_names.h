// Names for streams that the compiler makes itself.
#pragma once

#include <set>
#include <string>

#include "anabranch/ir/graph.h"

namespace anabranch::passes {

/// Gives names that no label of the graph, however deep, and no stream has: the wanted name, else
/// the wanted name with "_2", "_3", … behind it.
class StreamNames {
 public:
  explicit StreamNames(const Graph& graph);
  /// Never gives the same name twice.
  std::string fresh(const std::string& wanted);

 private:
  void collect(const Graph& graph);
  std::set<std::string, std::less<>> taken_;
};

/// Puts a launched operator on `stream` and writes what dumps show of it.
void put_on_stream(Graph& graph, NodeId node, StreamId stream);

}  // namespace anabranch::passes
