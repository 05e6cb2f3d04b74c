// Slow references: order by transitive closure (Warshall, O(n³)), hazards by trying every pair.
#pragma once

#include <utility>
#include <vector>

#include "anabranch/ir/graph.h"
#include "anabranch/schedule/schedule.h"

namespace anabranch::testing_support {

using Relation = std::vector<std::vector<bool>>;  // by NodeId, by NodeId

void close(Relation& relation);

/// a before b, from the command lists alone. The schedule must have an order.
Relation schedule_order(const Graph& graph, const Schedule& schedule);

/// Data edges through views and sizes, and control edges: what the graph itself requires.
Relation required_edges(const Graph& graph);

/// All pairs that must stay in order: required edges and every two conflicting uses.
Relation hazards(const Graph& graph);

/// True if every hazard between launched operators is in `order`.
bool keeps_hazards(const Graph& graph, const Relation& order);

/// The launched operators that touch the buffer; waits that hand it on included.
std::vector<NodeId> users(const Graph& graph, BufferId buffer);

}  // namespace anabranch::testing_support
