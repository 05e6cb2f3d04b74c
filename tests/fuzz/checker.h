// What must hold for every program: it computes what its statements compute one after the other,
// whatever the streams and delays, and the verifier accepts its schedule and refuses broken ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "anabranch/ir/graph.h"

namespace anabranch::fuzz {

struct CheckOptions {
  uint64_t seed = 0;     // of input values, delays and the choice of what to break
  int adversaries = 1;   // runs with random delays
  int longest_us = 20;   // of one delay
  size_t breakages = 6;  // of each kind that are tried; 0: all
};

/// What does not hold, as a text that says all of it; nothing if all is well. Thread-safe. `graph`
/// is a captured graph, and stays as it is.
std::optional<std::string> check_program(const Graph& graph, const CheckOptions& options);

/// The two halves. `check_schedules` takes what compiling the graph gave.
std::optional<std::string> check_execution(const Graph& graph, const CheckOptions& options);
std::optional<std::string> check_schedules(const Graph& graph, const CheckOptions& options);

}  // namespace anabranch::fuzz
