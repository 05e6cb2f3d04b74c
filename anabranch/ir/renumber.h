// Changes the numbers of nodes and values. A node's number is its place, so this is how a pass
// takes nodes out of a graph or puts them in another order.
#pragma once

#include <vector>

#include "anabranch/ir/graph.h"

namespace anabranch {

/// Replaces every number that the nodes and the outputs mention by what the tables have at its
/// index. The nodes themselves and the values stay where they are.
void renumber(Graph& graph, const std::vector<NodeId>& new_node,
              const std::vector<ValueId>& new_value);

/// Puts the nodes in another order and renumbers them and their results, which stay in node order.
/// `order` names every node once, producers before their users.
void reorder(Graph& graph, const std::vector<NodeId>& order);

}  // namespace anabranch
