// Arguments of operators: values of the graph, or literals as they stood in the user's program.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "anabranch/base/ids.h"
#include "anabranch/ir/expr.h"
#include "anabranch/ir/type.h"

namespace anabranch {

struct None {
  bool operator==(const None&) const = default;
};

/// A named constant of the tensor library that the core does not interpret:
/// `device("cpu")`, `layout("strided")`, `memory_format("contiguous_format")`.
struct Keyword {
  std::string kind;
  std::string name;
  bool operator==(const Keyword&) const = default;
};

struct Argument;
using ArgumentList = std::vector<Argument>;

/// One argument. A size expression prints as `{s0*2}`; a dtype as `dtype(f16)`.
struct Argument {
  using Storage = std::variant<None, ValueId, bool, int64_t, double, std::complex<double>,
                               std::string, DType, Keyword, Expr, ArgumentList>;
  Storage value;

  Argument(Storage v = None{}) : value(std::move(v)) {}  // NOLINT: literals are arguments
  bool operator==(const Argument& other) const = default;
};

/// An argument in a call: positional when `name` is empty.
struct Operand {
  std::string name;
  Argument value;
  bool operator==(const Operand&) const = default;
};

/// Calls `visit(ValueId&)` for each value inside, lists included, in order.
template <class ArgumentType, class Visit>
void for_each_value(ArgumentType& argument, Visit&& visit) {
  if (auto* value = std::get_if<ValueId>(&argument.value)) {
    visit(*value);
  } else if (auto* list = std::get_if<ArgumentList>(&argument.value)) {
    for (auto& item : *list) for_each_value(item, visit);
  }
}

/// Calls `visit(const Expr&)` for each size expression inside, lists included, in order.
template <class Visit>
void for_each_expr(const Argument& argument, Visit&& visit) {
  if (const auto* expr = std::get_if<Expr>(&argument.value)) {
    visit(*expr);
  } else if (const auto* list = std::get_if<ArgumentList>(&argument.value)) {
    for (const Argument& item : *list) for_each_expr(item, visit);
  }
}

/// Shortest text that reads back to the same double; always with a point, an exponent, inf or nan.
std::string print_real(double value);

}  // namespace anabranch
