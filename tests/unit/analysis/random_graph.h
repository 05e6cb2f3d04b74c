// Random programs for tests: inputs (some sharing memory), views, fresh and in-place operators,
// waits, random generators, labels. The same seed gives the same graph everywhere.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "anabranch/ir/graph.h"

namespace anabranch::testing_support {

struct RandomGraphOptions {
  size_t nodes = 30;
  size_t labels = 3;  // beside the default stream
  size_t inputs = 4;
};

/// As captured: waits in two halves, no streams assigned.
Graph random_graph(uint64_t seed, const RandomGraphOptions& options = {});

}  // namespace anabranch::testing_support
