// Types of values: tensors with their place in memory, and integers that live on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "anabranch/base/ids.h"
#include "anabranch/ir/expr.h"

namespace anabranch {

class Lexer;

enum class DType : uint8_t {
  Bool,
  U8,
  U16,
  U32,
  U64,
  I8,
  I16,
  I32,
  I64,
  F16,
  BF16,
  F32,
  F64,
  F8E4M3FN,
  F8E5M2,
  F8E4M3FNUZ,
  F8E5M2FNUZ,
  C32,
  C64,
  C128,
};

/// "f16", "bf16", "i64", "bool", "c64", "f8e4m3fn", …
std::string_view to_string(DType dtype);
/// Throws Error ("unknown-dtype") that lists the known names.
DType parse_dtype(std::string_view name);
/// Bytes of one element.
size_t size_of(DType dtype);

/// A strided window on a buffer. Sizes, strides and offset count elements.
struct TensorType {
  DType dtype = DType::F32;
  std::vector<Expr> sizes;
  std::vector<Expr> strides;
  Expr offset = 0;
  BufferId buffer;
  bool conjugate = false;  // torch's lazy conjugation and negation bits
  bool negative = false;

  bool is_static() const;
  bool operator==(const TensorType&) const = default;
};

/// How the 64 bits of a host number are read: a bool is 0 or 1, a float the bits of a double.
enum class HostKind : uint8_t { Int, Bool, Float };

/// A number computed on the host: no buffer. `x.shape[0]` needs no launch; `x.item()` is the result
/// of an operator, which defines the symbol.
struct HostType {
  Expr value;
  HostKind kind = HostKind::Int;
  bool operator==(const HostType&) const = default;
};

using Type = std::variant<TensorType, HostType>;

/// Calls `visit(const Expr&)` for each size, stride and offset, or for the host integer.
template <class Visit>
void for_each_expr(const Type& type, Visit&& visit) {
  if (const auto* host = std::get_if<HostType>(&type)) {
    visit(host->value);
    return;
  }
  const auto& tensor = std::get<TensorType>(type);
  for (const Expr& size : tensor.sizes) visit(size);
  for (const Expr& stride : tensor.strides) visit(stride);
  visit(tensor.offset);
}

/// Strides of a dense row-major tensor; a size-0 or size-1 dimension counts as one.
std::vector<Expr> contiguous_strides(const std::vector<Expr>& sizes);

/// `f16[4,8](8,1)+16 @b3`; strides are left out when contiguous, the offset when 0, `conj` and
/// `neg` follow when set. Host numbers print as `int(s0*2)`, `bool(u0)`, `float(z0)`.
std::string to_string(const Type& type);
Type parse_type(Lexer& lexer);

}  // namespace anabranch
