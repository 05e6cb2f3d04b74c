// Reads graph dumps of TorchAir (pbtxt), GE (text) and GE's ONNX-like form.
#pragma once

#include <string_view>

#include "anabranch/formats/dump.h"

namespace anabranch::formats {

/// By content: GE and TorchAir share file extensions.
DumpKind detect(std::string_view text);

/// Never throws on bad content: says in `diagnostics` what is wrong, with the line, and returns the
/// operators that were read whole. No recursion over the input's size; tens of MB are fine.
Dump read_dump(std::string_view text);

}  // namespace anabranch::formats
