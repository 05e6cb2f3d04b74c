// Arguments as they stood in the user's program → what torch's dispatcher takes, by the schema.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <stdexcept>
#include <string>

#include "anabranch/ir/argument.h"

namespace anabranch::torch_backend {

/// An argument that does not fit the schema; the message says what was found and what was expected.
/// bind.cpp adds operator, schema and source line.
class Mismatch : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The type without `?`.
c10::TypePtr without_optional(const c10::TypePtr& type);
bool is_integer_type(const c10::Type& type);

/// A literal, as Python's own conversion gives it: an integer where a float is expected becomes a
/// float, one integer for `int[2]` is repeated, a number for a tensor becomes a wrapped scalar
/// tensor. `length` is the N of `int[N]`, or 0. Throws Mismatch.
c10::IValue convert_literal(const Argument& argument, const c10::TypePtr& type, int64_t length);

/// A Python number where a tensor is expected.
at::Tensor wrapped_number(const c10::Scalar& number);

/// "3", "[1, none]", "dtype(f16)": for messages.
std::string describe(const Argument& argument);

}  // namespace anabranch::torch_backend
