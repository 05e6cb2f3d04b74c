// Random programs that mutate memory through views on several streams, in text form.
#pragma once

#include <cstdint>
#include <string>

namespace anabranch::testing {

/// A graph's statements and its return. Inputs are %x (i64[8]) and %y (i64[4]). Every operator has
/// a random stream; some write in place, draw random numbers, print, or wait for other streams.
std::string random_program(uint64_t seed, int operators);

}  // namespace anabranch::testing
