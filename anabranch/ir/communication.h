// Which operators wait for other processes.
#pragma once

#include "anabranch/ir/graph.h"

namespace anabranch {

/// True for both halves of a collective: who runs them waits for other processes, and needs no
/// cores for it. Thread-safe.
bool communicates(const Node& node);

}  // namespace anabranch
