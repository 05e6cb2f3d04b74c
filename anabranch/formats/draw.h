// A dump as a picture, in Graphviz' language.
#pragma once

#include <string>

#include "anabranch/formats/dump.h"

namespace anabranch::formats {

/// Operators coloured and grouped by stream, data edges solid, waits dashed in the waiting stream's
/// colour, other order (effects) dotted, with a legend of the streams. Deterministic.
std::string draw_dot(const DumpGraph& graph);

}  // namespace anabranch::formats
