#include "anabranch/ir/expr.h"

#include <gtest/gtest.h>

#include "anabranch/base/diagnostic.h"
#include "anabranch/base/lexer.h"

namespace anabranch {
namespace {

Expr parse(std::string_view text) {
  Lexer lexer(text, "test");
  Expr expr = parse_expr(lexer);
  EXPECT_EQ(lexer.peek().kind, TokenKind::End) << text;
  return expr;
}

int64_t evaluate(std::string_view text, int64_t s0 = 7, int64_t s1 = -3) {
  return parse(text).evaluate({{"s0", s0}, {"s1", s1}});
}

TEST(Expr, Evaluates) {
  EXPECT_EQ(evaluate("12"), 12);
  EXPECT_EQ(evaluate("s0*2+1"), 15);
  EXPECT_EQ(evaluate("2*(s0+1)"), 16);
  EXPECT_EQ(evaluate("(s0+-1)//2"), 3);
  EXPECT_EQ(evaluate("min(s0,3)+max(s0,10)"), 13);
  EXPECT_EQ(evaluate("mod(s0,4)"), 3);
}

TEST(Expr, ConditionsAreOneOrZero) {
  EXPECT_EQ(evaluate("eq(s0,7)"), 1);
  EXPECT_EQ(evaluate("ne(s0,7)"), 0);
  EXPECT_EQ(evaluate("and(lt(s1,s0),le(7,s0))"), 1);
  EXPECT_EQ(evaluate("or(lt(s0,s1),eq(s1,0))"), 0);
  EXPECT_TRUE(parse("le(s0,3)").is_condition());
  EXPECT_FALSE(parse("s0+1").is_condition());
  EXPECT_EQ(to_string(parse("and(lt(s1, s0), ne(s0, 2))")), "and(lt(s1,s0),ne(s0,2))");
}

TEST(Expr, DivisionRoundsTowardsMinusInfinityAsPythonDoes) {
  EXPECT_EQ(evaluate("s1//2"), -2);
  EXPECT_EQ(evaluate("s0//-2"), -4);
  EXPECT_EQ(evaluate("mod(s1,4)"), 1);
  EXPECT_EQ(evaluate("mod(s0,-4)"), -1);
  EXPECT_EQ(evaluate("s1//-3"), 1);
}

TEST(Expr, ConstantsFold) {
  EXPECT_TRUE(parse("2*3+4").is_constant());
  EXPECT_EQ(parse("2*3+4").constant(), 10);
  EXPECT_EQ(to_string(parse("s0*(1+1)")), "(s0*2)");
}

TEST(Expr, TextsReadBack) {
  for (const char* text : {"4", "s0", "(s0*2)", "(s0+-1)", "(s0//2)", "mod(s0,2)", "min(s0,8)",
                           "max(s0,8)", "((s0*2)+(s1//mod(s0,4)))"}) {
    EXPECT_EQ(to_string(parse(text)), text);
    EXPECT_EQ(parse(to_string(parse(text))), parse(text));
  }
  EXPECT_FALSE(parse("s0") == parse("s1"));
  EXPECT_FALSE(parse("s0") == parse("1"));
}

TEST(Expr, Symbols) {
  std::vector<std::string> names;
  parse("s0*(s1+s0)").collect_symbols(names);
  EXPECT_EQ(names, (std::vector<std::string>{"s0", "s1", "s0"}));
}

TEST(Expr, Errors) {
  EXPECT_THROW(parse("s9").evaluate({}), Error);
  EXPECT_THROW(evaluate("s0//0"), Error);
  EXPECT_THROW(parse("1//0"), Error);
  EXPECT_THROW(parse("sin(s0)"), Error);
  EXPECT_THROW(parse("(s0"), Error);
}

}  // namespace
}  // namespace anabranch
