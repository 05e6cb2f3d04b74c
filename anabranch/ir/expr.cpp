#include "anabranch/ir/expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "anabranch/base/diagnostic.h"
#include "anabranch/base/lexer.h"

namespace anabranch {

struct Expr::Node {
  ExprOp op;
  std::string name;
  Expr left, right;
};

namespace {

constexpr std::array<std::pair<ExprOp, std::string_view>, 9> kFunctions{{
    {ExprOp::Mod, "mod"},
    {ExprOp::Min, "min"},
    {ExprOp::Max, "max"},
    {ExprOp::Eq, "eq"},
    {ExprOp::Ne, "ne"},
    {ExprOp::Lt, "lt"},
    {ExprOp::Le, "le"},
    {ExprOp::And, "and"},
    {ExprOp::Or, "or"},
}};

std::string_view function_name(ExprOp op) {
  for (const auto& [known, name] : kFunctions) {
    if (known == op) return name;
  }
  return "";
}

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) throw Error("division-by-zero", "a size expression divides by zero");
  int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

int64_t apply_op(ExprOp op, int64_t a, int64_t b) {
  switch (op) {
    case ExprOp::Add: return a + b;
    case ExprOp::Mul: return a * b;
    case ExprOp::FloorDiv: return floor_div(a, b);
    case ExprOp::Mod: return a - floor_div(a, b) * b;
    case ExprOp::Min: return std::min(a, b);
    case ExprOp::Max: return std::max(a, b);
    case ExprOp::Eq: return a == b;
    case ExprOp::Ne: return a != b;
    case ExprOp::Lt: return a < b;
    case ExprOp::Le: return a <= b;
    case ExprOp::And: return a != 0 && b != 0;
    case ExprOp::Or: return a != 0 || b != 0;
    case ExprOp::Constant:
    case ExprOp::Symbol: break;
  }
  return a;
}

}  // namespace

Expr Expr::symbol(std::string name) {
  Expr expr;
  expr.node_ = std::make_shared<const Node>(Node{ExprOp::Symbol, std::move(name), {}, {}});
  return expr;
}

Expr Expr::apply(ExprOp op, Expr left, Expr right) {
  if (left.is_constant() && right.is_constant()) {
    return Expr(apply_op(op, left.value_, right.value_));
  }
  Expr expr;
  expr.node_ = std::make_shared<const Node>(Node{op, {}, std::move(left), std::move(right)});
  return expr;
}

bool Expr::is_condition() const { return node_ && node_->op >= ExprOp::Eq; }

int64_t Expr::evaluate(const SymbolTable& symbols) const {
  if (!node_) return value_;
  if (node_->op == ExprOp::Symbol) {
    auto found = symbols.find(node_->name);
    if (found == symbols.end()) {
      throw Error("unbound-symbol", fmt::format("the size symbol {} has no value yet", node_->name),
                  "the operator that defines it must run before this one");
    }
    return found->second;
  }
  return apply_op(node_->op, node_->left.evaluate(symbols), node_->right.evaluate(symbols));
}

void Expr::collect_symbols(std::vector<std::string>& names) const {
  if (!node_) return;
  if (node_->op == ExprOp::Symbol) {
    names.push_back(node_->name);
    return;
  }
  node_->left.collect_symbols(names);
  node_->right.collect_symbols(names);
}

bool Expr::operator==(const Expr& other) const {
  if (!node_ || !other.node_) return !node_ && !other.node_ && value_ == other.value_;
  if (node_ == other.node_) return true;
  return node_->op == other.node_->op && node_->name == other.node_->name &&
         node_->left == other.node_->left && node_->right == other.node_->right;
}

std::string to_string(const Expr& expr) {
  if (!expr.node_) return std::to_string(expr.value_);
  const Expr::Node& node = *expr.node_;
  if (node.op == ExprOp::Symbol) return node.name;
  std::string left = to_string(node.left), right = to_string(node.right);
  switch (node.op) {
    case ExprOp::Add: return fmt::format("({}+{})", left, right);
    case ExprOp::Mul: return fmt::format("({}*{})", left, right);
    case ExprOp::FloorDiv: return fmt::format("({}//{})", left, right);
    default: return fmt::format("{}({},{})", function_name(node.op), left, right);
  }
}

namespace {

Expr parse_primary(Lexer& lexer) {
  if (lexer.peek().kind == TokenKind::Integer) return Expr(lexer.next().integer);
  if (lexer.accept("(")) {
    Expr expr = parse_expr(lexer);
    lexer.expect(")");
    return expr;
  }
  Token word = lexer.expect_kind(TokenKind::Word, "a size expression");
  if (!lexer.at("(")) return Expr::symbol(std::string(word.text));
  auto function = std::find_if(kFunctions.begin(), kFunctions.end(),
                               [&](const auto& known) { return known.second == word.text; });
  if (function == kFunctions.end()) {
    lexer.fail(fmt::format("unknown function in a size expression: {}", word.text));
  }
  ExprOp op = function->first;
  lexer.expect("(");
  Expr left = parse_expr(lexer);
  lexer.expect(",");
  Expr right = parse_expr(lexer);
  lexer.expect(")");
  return Expr::apply(op, std::move(left), std::move(right));
}

Expr parse_product(Lexer& lexer) {
  Expr expr = parse_primary(lexer);
  while (lexer.at("*") || lexer.at("//")) {
    ExprOp op = lexer.next().text == "*" ? ExprOp::Mul : ExprOp::FloorDiv;
    expr = Expr::apply(op, std::move(expr), parse_primary(lexer));
  }
  return expr;
}

}  // namespace

Expr parse_expr(Lexer& lexer) {
  Expr expr = parse_product(lexer);
  while (lexer.accept("+")) expr = Expr::apply(ExprOp::Add, std::move(expr), parse_product(lexer));
  return expr;
}

}  // namespace anabranch
