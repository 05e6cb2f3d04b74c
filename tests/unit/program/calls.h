// Calls of programs on the reference kernels.
#pragma once

#include <string>

#include "anabranch/backends/cpu/reference_kernels.h"
#include "anabranch/program/program.h"
#include "tests/conformance/harness.h"

namespace anabranch::testing {

inline ReferenceValues& reference(CallValues& values) {
  return static_cast<ReferenceValues&>(values);
}

/// Sets %x, runs, reads %name.
inline Elements call(Program& program, const Elements& x, const std::string& name) {
  Elements result;
  program.run([&](CallValues& values) { reference(values).set("x", x); },
              [&](CallValues& values) { result = reference(values).get(name); });
  return result;
}

}  // namespace anabranch::testing
