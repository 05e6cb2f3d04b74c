// Dumps for property tests: every kind of attribute, names with everything in them.
#pragma once

#include <random>
#include <string>

#include "anabranch/formats/dump.h"

namespace anabranch::formats {

/// Deterministic for a seed. Floats are exact in single precision, as GE stores them.
DumpGraph random_dump(unsigned seed, size_t operators);

/// Valid UTF-8 with quotes, newlines, backslashes and colons.
std::string random_text(std::mt19937& random);

}  // namespace anabranch::formats
