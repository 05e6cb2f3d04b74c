// Writes graph dumps. read_dump gives the same DumpGraph back (but for the name in pbtxt).
#pragma once

#include <string>

#include "anabranch/formats/dump.h"

namespace anabranch::formats {

/// TensorFlow GraphDef text as TorchAir writes it: what Netron and TensorBoard open.
std::string write_torchair_pbtxt(const DumpGraph& graph);

/// Text form of GE's own GraphDef: bare `op { … }` with typed attributes.
std::string write_ge_text(const DumpGraph& graph);

}  // namespace anabranch::formats
