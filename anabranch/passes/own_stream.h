// Operators that a compiler puts on a stream of their own, because they wait for something else
// than this device's cores: communication with other processes, and copies that were asked to be
// asynchronous.
#pragma once

#include <cstdint>

#include "anabranch/ir/graph.h"

namespace anabranch::passes {

enum class OwnStream : uint8_t { None, Communication, Copy };

/// Communication: both halves of torch's functional collectives, any operator with a collective
/// effect, GE's Hcom operators. Copy: operators named prefetch, and copies with non_blocking=True;
/// any other copy is work like the rest.
OwnStream own_stream(const Node& node);

}  // namespace anabranch::passes
