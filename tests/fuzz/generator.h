// Random programs for the torch-free core: what users' models do to memory, in small.
#pragma once

#include <cstdint>

#include "anabranch/ir/graph.h"

namespace anabranch::fuzz {

/// A captured graph (waits in two halves, no streams assigned) of 5 to 300 operators under 1 to 40
/// stream labels, small ones more often: views (also strided, transposed and overlapping), in-place
/// operators, inputs that share memory, waits on one or two dependencies, two random generators,
/// printing, asynchronous operators in two halves, numbers that an operator reads back and sizes
/// that depend on them, symbolic sizes, control operators with nested bodies, and now and then an
/// operator that fails. The same seed gives the same graph.
Graph random_program(uint64_t seed);

/// The contents of an input or constant and the values of symbols, from its name and the seed.
std::vector<int64_t> input_elements(uint64_t seed, const std::string& name, size_t count);
int64_t symbol_value(uint64_t seed, const std::string& symbol);

}  // namespace anabranch::fuzz
