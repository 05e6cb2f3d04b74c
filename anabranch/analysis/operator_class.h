// Which half of an NPU core an operator occupies: the matrix unit or the vector unit. Core limits,
// automatic streams and the simulator all ask here.
#pragma once

#include <cstdint>
#include <string_view>

#include "anabranch/ir/graph.h"

namespace anabranch {

/// Cube: matrix products, convolutions, attention, recurrent cells. Vector: everything else.
enum class OperatorClass : uint8_t { Cube, Vector };
/// "cube" or "vector".
std::string_view to_string(OperatorClass operator_class);

/// By name: ATen's ("aten.mm.default", in-place and out= forms too, any namespace) or GE's
/// ("MatMul"). An unknown name is Vector. Takes O(log n) of a table; safe from many threads.
OperatorClass operator_class(std::string_view op);

/// Of a node: a control operator is Cube when anything in its bodies is; views, sizes and waits are
/// Vector (they occupy neither).
OperatorClass operator_class(const Node& node);

}  // namespace anabranch
