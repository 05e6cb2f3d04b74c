// Which operators wait for other processes, or do more than compute.
#pragma once

#include "anabranch/ir/graph.h"

namespace anabranch {

/// True for both halves of a collective: who runs them waits for other processes, and needs no
/// cores for it. Thread-safe.
bool communicates(const Node& node);

/// True if the operator's time is its own: it waits for no other process, runs no bodies and writes
/// no output. Random numbers are no matter. Thread-safe.
bool works_alone(const Node& node);

}  // namespace anabranch
