// The text form of a graph: what capture hands over, what bug reports contain, what tests compare.
// Grammar in docs/formats.md. print(parse(text)) is a fixed point.
#pragma once

#include <string>
#include <string_view>

#include "anabranch/ir/graph.h"

namespace anabranch {

/// Throws Error ("syntax", "undefined-value", "duplicate-name", …) with line and column.
Graph parse_graph(std::string_view text);

/// One statement a line, program order, attributes sorted by key.
std::string print_graph(const Graph& graph);

/// The statement of one node, without a line end: for messages.
std::string print_node(const Graph& graph, NodeId id);

}  // namespace anabranch
