// Tokens of anabranch's own text forms (graphs and schedules). One pass, no look-ahead beyond one
// token; every error names the line and the column. `#` starts a comment that ends with the line.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace anabranch {

/// The text in double quotes with C escapes; bytes above 0x7f stay as they are (UTF-8 survives).
std::string quote(std::string_view text);
/// True if `name` can follow % or ^ without quotes.
bool is_plain_name(std::string_view name);
/// True if `text` reads back as one Word.
bool is_word(std::string_view text);

enum class TokenKind { End, Word, String, Integer, Real, Value, Node, Punctuation };

/// Word: [A-Za-z_][A-Za-z0-9_.$]*   Value: %name or %"name"   Node: ^name or ^"name"
/// Integer: -?[0-9]+   Real: has a point or exponent, or is inf, -inf, nan.
struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text;  // decoded: without quotes, % or ^; lives as long as lexer and input
  int64_t integer = 0;
  double real = 0;
  int line = 1;
  int column = 1;
};

class Lexer {
 public:
  /// The text must outlive the lexer. `what` names the input in errors ("graph text").
  Lexer(std::string_view text, std::string what);

  const Token& peek() const { return token_; }
  Token next();

  bool at(std::string_view punctuation) const;
  bool at_word(std::string_view word) const;
  /// Consumes the token if it is there.
  bool accept(std::string_view punctuation);
  bool accept_word(std::string_view word);
  /// Consumes the token or throws Error ("syntax").
  void expect(std::string_view punctuation);
  void expect_word(std::string_view word);
  Token expect_kind(TokenKind kind, std::string_view description);

  /// Throws Error with the position of the current token.
  [[noreturn]] void fail(const std::string& message) const;

 private:
  void advance();
  void skip_blank();
  void lex_number();
  void lex_string(TokenKind kind);
  void lex_name(TokenKind kind);

  std::string_view text_;
  std::string what_;
  std::deque<std::string> decoded_;  // texts with escapes; a deque keeps them in their place
  size_t position_ = 0;
  size_t line_start_ = 0;
  int line_ = 1;
  Token token_;
};

}  // namespace anabranch
