// Size expressions: integers known at compile time, or functions of the sizes of one call.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace anabranch {

class Lexer;

enum class ExprOp : uint8_t {
  Constant,
  Symbol,
  Add,
  Mul,
  FloorDiv,
  Mod,
  Min,
  Max,
  Eq,  // from here on: conditions, 1 or 0
  Ne,
  Lt,
  Le,
  And,
  Or,
};

/// Values of symbols in one call, by name.
using SymbolTable = std::unordered_map<std::string, int64_t>;

/// An immutable integer expression; copies share. Division and modulo round towards minus infinity,
/// as Python's do. Operations on constants fold.
class Expr {
 public:
  Expr(int64_t value = 0) : value_(value) {}  // NOLINT: an integer is an expression
  static Expr symbol(std::string name);
  static Expr apply(ExprOp op, Expr left, Expr right);

  bool is_constant() const { return node_ == nullptr; }
  /// True for a comparison or a connection of such.
  bool is_condition() const;
  /// The integer; call only when is_constant().
  int64_t constant() const { return value_; }

  /// Throws Error ("unbound-symbol", "division-by-zero").
  int64_t evaluate(const SymbolTable& symbols) const;
  void collect_symbols(std::vector<std::string>& names) const;

  bool operator==(const Expr& other) const;

 private:
  struct Node;
  int64_t value_ = 0;
  std::shared_ptr<const Node> node_;

  friend std::string to_string(const Expr& expr);
};

/// `4`, `s0`, `(s0*2)`, `(s0+-1)`, `(s0//2)`, `mod(s0,2)`, `min(s0,8)`, `max(s0,8)`,
/// `eq(u0,1)`, and likewise ne, lt, le, and, or.
std::string to_string(const Expr& expr);
/// Parses what to_string prints, with or without parentheses around infix operators.
Expr parse_expr(Lexer& lexer);

}  // namespace anabranch
