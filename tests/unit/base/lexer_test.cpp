#include "anabranch/base/lexer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "anabranch/base/diagnostic.h"

namespace anabranch {
namespace {

using testing::HasSubstr;

struct Copy : Token {
  std::string text;  // outlives the lexer
};

Copy only(std::string_view text) {
  Lexer lexer(text, "test");
  Copy token{lexer.next(), {}};
  token.text = token.Token::text;
  EXPECT_EQ(lexer.peek().kind, TokenKind::End) << text;
  return token;
}

std::string error_of(std::string_view text) {
  try {
    Lexer lexer(text, "graph text");
    while (lexer.peek().kind != TokenKind::End) lexer.next();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Lexer, Kinds) {
  EXPECT_EQ(only("aten.add.Tensor").kind, TokenKind::Word);
  EXPECT_EQ(only("%x_1").text, "x_1");
  EXPECT_EQ(only("%1").kind, TokenKind::Value);
  EXPECT_EQ(only("^\"a b\"").text, "a b");
  EXPECT_EQ(only("^a").kind, TokenKind::Node);
  EXPECT_EQ(only("\"text\"").kind, TokenKind::String);
  EXPECT_EQ(only("//").text, "//");
  EXPECT_EQ(only("(").kind, TokenKind::Punctuation);
  EXPECT_EQ(only("  # a comment\n").kind, TokenKind::End);
}

TEST(Lexer, Numbers) {
  EXPECT_EQ(only("-12").integer, -12);
  EXPECT_EQ(only("-9223372036854775808").integer, INT64_MIN);
  EXPECT_EQ(only("9223372036854775807").integer, INT64_MAX);
  EXPECT_EQ(only("1.5").real, 1.5);
  EXPECT_EQ(only("1e-3").real, 1e-3);
  EXPECT_EQ(only("-2.5E+2").real, -250.0);
  EXPECT_EQ(only("5e-324").real, 5e-324);
  EXPECT_EQ(only("inf").real, INFINITY);
  EXPECT_EQ(only("-inf").real, -INFINITY);
  EXPECT_TRUE(std::isnan(only("nan").real));
  EXPECT_EQ(only("-inf").kind, TokenKind::Real);
  EXPECT_EQ(only("information").kind, TokenKind::Word);
}

TEST(Lexer, StringsReadBackWhatQuoteWrites) {
  for (std::string text :
       {"", "plain", "a\"b\\c", "line\nbreak\ttab\r", "\x01\x1f\x7f", "流 1", "%s {x}"}) {
    EXPECT_EQ(only(quote(text)).text, text) << quote(text);
  }
  EXPECT_EQ(quote("\x01"), "\"\\x01\"");
  std::string with_zero("a\0b", 3);
  EXPECT_EQ(only(quote(with_zero)).text, with_zero);
}

TEST(Lexer, Positions) {
  Lexer lexer("a\n  b # c\n\"d\"", "test");
  lexer.next();
  EXPECT_EQ(lexer.peek().line, 2);
  EXPECT_EQ(lexer.peek().column, 3);
  lexer.next();
  EXPECT_EQ(lexer.next().line, 3);
}

TEST(Lexer, ErrorsNameThePlace) {
  EXPECT_THAT(error_of("a\n \"open"),
              HasSubstr("graph text, line 2, column 2: a string has no closing quote"));
  EXPECT_THAT(error_of("\"open\n\""), HasSubstr("a string ends before its line does"));
  EXPECT_THAT(error_of("99999999999999999999"), HasSubstr("not a number that fits"));
  EXPECT_THAT(error_of("1.2.3"), HasSubstr("not a number"));
  EXPECT_THAT(error_of("% x"), HasSubstr("a name must follow"));
  EXPECT_THAT(error_of("\"\\xg0\""), HasSubstr("bad \\x escape"));
  EXPECT_THAT(error_of("\"\\x1"), HasSubstr("bad \\x escape"));
}

TEST(Lexer, ExpectAndAccept) {
  Lexer lexer("( word )", "test");
  EXPECT_FALSE(lexer.accept("["));
  EXPECT_TRUE(lexer.accept("("));
  EXPECT_FALSE(lexer.accept_word("other"));
  EXPECT_TRUE(lexer.at_word("word"));
  EXPECT_THROW(lexer.expect(")"), Error);
  lexer.expect_word("word");
  lexer.expect(")");
  EXPECT_THROW(lexer.expect_kind(TokenKind::Integer, "a number"), Error);
}

TEST(Names, PlainNamesAndWords) {
  EXPECT_TRUE(is_plain_name("a.b_1$"));
  EXPECT_TRUE(is_plain_name("1"));
  EXPECT_FALSE(is_plain_name(""));
  EXPECT_FALSE(is_plain_name("a b"));
  EXPECT_FALSE(is_plain_name("流"));
  EXPECT_TRUE(is_word("aten.add"));
  EXPECT_FALSE(is_word("1"));
  EXPECT_FALSE(is_word("nan"));
}

}  // namespace
}  // namespace anabranch
