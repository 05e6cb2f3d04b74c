// Operators whose results change in the last bits with the number of intra-op threads.
#pragma once

#include "anabranch/ir/graph.h"

namespace anabranch::passes {

/// True if the operator must run with the number of threads that eager execution would use.
bool is_thread_sensitive(const Graph& graph, const Node& node);

}  // namespace anabranch::passes
