// Makes a failing program small enough to read.
#pragma once

#include <functional>

#include "anabranch/ir/graph.h"

namespace anabranch::fuzz {

/// Removes statements, outputs, labels, clauses and bodies' statements from a captured graph as
/// long as `fails` stays true of what is left; greedy, larger pieces first, until nothing more can
/// go. The result is a legal captured graph of which `fails` is true. `fails(graph)` must be true.
Graph shrink(Graph graph, const std::function<bool(const Graph&)>& fails);

}  // namespace anabranch::fuzz
