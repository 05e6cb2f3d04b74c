#include "anabranch/base/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <limits>

#include "anabranch/base/diagnostic.h"

namespace anabranch {
namespace {

bool starts_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }

bool continues_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$';
}

std::string describe(const Token& token) {
  if (token.kind == TokenKind::End) return "the end of the text";
  return fmt::format("'{}'", token.text);
}

}  // namespace

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        } else {
          out += c;
        }
    }
  }
  out += '"';
  return out;
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), continues_word);
}

bool is_word(std::string_view text) {
  return is_plain_name(text) && starts_word(text[0]) && text != "inf" && text != "nan";
}

Lexer::Lexer(std::string_view text, std::string what) : text_(text), what_(std::move(what)) {
  advance();
}

Token Lexer::next() {
  Token token = token_;
  advance();
  return token;
}

bool Lexer::at(std::string_view punctuation) const {
  return token_.kind == TokenKind::Punctuation && token_.text == punctuation;
}

bool Lexer::at_word(std::string_view word) const {
  return token_.kind == TokenKind::Word && token_.text == word;
}

bool Lexer::accept(std::string_view punctuation) {
  if (!at(punctuation)) return false;
  advance();
  return true;
}

bool Lexer::accept_word(std::string_view word) {
  if (!at_word(word)) return false;
  advance();
  return true;
}

void Lexer::expect(std::string_view punctuation) {
  if (!accept(punctuation))
    fail(fmt::format("expected '{}', found {}", punctuation, describe(token_)));
}

void Lexer::expect_word(std::string_view word) {
  if (!accept_word(word)) fail(fmt::format("expected '{}', found {}", word, describe(token_)));
}

Token Lexer::expect_kind(TokenKind kind, std::string_view description) {
  if (token_.kind != kind)
    fail(fmt::format("expected {}, found {}", description, describe(token_)));
  return next();
}

void Lexer::fail(const std::string& message) const {
  throw Error("syntax", fmt::format("{}, line {}, column {}: {}", what_, token_.line, token_.column,
                                    message));
}

void Lexer::skip_blank() {
  while (position_ < text_.size()) {
    char c = text_[position_];
    if (c == '#') {
      while (position_ < text_.size() && text_[position_] != '\n') ++position_;
    } else if (c == '\n') {
      ++position_;
      ++line_;
      line_start_ = position_;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++position_;
    } else {
      return;
    }
  }
}

void Lexer::advance() {
  skip_blank();
  token_ = Token{};
  token_.line = line_;
  token_.column = static_cast<int>(position_ - line_start_) + 1;
  if (position_ == text_.size()) return;
  char c = text_[position_];
  if (c == '"') return lex_string(TokenKind::String);
  if (c == '%') return lex_name(TokenKind::Value);
  if (c == '^') return lex_name(TokenKind::Node);
  bool signed_number = c == '-' && position_ + 1 < text_.size() &&
                       (std::isdigit(static_cast<unsigned char>(text_[position_ + 1])) ||
                        text_.compare(position_ + 1, 3, "inf") == 0);
  if (std::isdigit(static_cast<unsigned char>(c)) || signed_number) return lex_number();
  if (starts_word(c)) {
    size_t begin = position_;
    while (position_ < text_.size() && continues_word(text_[position_])) ++position_;
    token_.text = text_.substr(begin, position_ - begin);
    token_.kind = TokenKind::Word;
    if (token_.text == "inf" || token_.text == "nan") {
      token_.kind = TokenKind::Real;
      token_.real = token_.text == "inf" ? std::numeric_limits<double>::infinity()
                                         : std::numeric_limits<double>::quiet_NaN();
    }
    return;
  }
  token_.kind = TokenKind::Punctuation;
  bool pair = c == '/' && text_.compare(position_, 2, "//") == 0;
  token_.text = text_.substr(position_, pair ? 2 : 1);
  position_ += token_.text.size();
}

void Lexer::lex_number() {
  size_t begin = position_;
  if (text_[position_] == '-') ++position_;
  if (text_.compare(position_, 3, "inf") == 0) {
    position_ += 3;
    token_.kind = TokenKind::Real;
    token_.text = "-inf";
    token_.real = -std::numeric_limits<double>::infinity();
    return;
  }
  bool real = false;
  while (position_ < text_.size()) {
    char c = text_[position_];
    bool exponent_sign =
        (c == '-' || c == '+') && (text_[position_ - 1] == 'e' || text_[position_ - 1] == 'E');
    if (c == '.' || c == 'e' || c == 'E') {
      real = true;
    } else if (!std::isdigit(static_cast<unsigned char>(c)) && !exponent_sign) {
      break;
    }
    ++position_;
  }
  token_.text = text_.substr(begin, position_ - begin);
  const char* first = token_.text.data();
  const char* last = first + token_.text.size();
  token_.kind = real ? TokenKind::Real : TokenKind::Integer;
  auto result = real ? std::from_chars(first, last, token_.real)
                     : std::from_chars(first, last, token_.integer);
  if (result.ec != std::errc() || result.ptr != last)
    fail(fmt::format("not a number that fits: {}", token_.text));
}

void Lexer::lex_string(TokenKind kind) {
  token_.kind = kind;
  size_t begin = ++position_;
  position_ = std::min(text_.find_first_of("\"\\\n", begin), text_.size());
  if (position_ < text_.size() && text_[position_] == '"') {  // nothing to decode
    token_.text = text_.substr(begin, position_++ - begin);
    return;
  }
  std::string& decoded = decoded_.emplace_back(text_.substr(begin, position_ - begin));
  while (position_ < text_.size() && text_[position_] != '"') {
    char c = text_[position_++];
    if (c == '\n') fail("a string ends before its line does");
    if (c != '\\') {
      decoded += c;
      continue;
    }
    if (position_ == text_.size()) break;
    char escape = text_[position_++];
    switch (escape) {
      case 'n': decoded += '\n'; break;
      case 'r': decoded += '\r'; break;
      case 't': decoded += '\t'; break;
      case 'x': {
        unsigned value = 0;
        auto digits = text_.substr(position_, 2);
        auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
        if (digits.size() != 2 || result.ptr != digits.data() + 2) fail("bad \\x escape");
        decoded += static_cast<char>(value);
        position_ += 2;
        break;
      }
      default: decoded += escape;
    }
  }
  if (position_ == text_.size()) fail("a string has no closing quote");
  token_.text = decoded;
  ++position_;
}

void Lexer::lex_name(TokenKind kind) {
  ++position_;
  if (position_ < text_.size() && text_[position_] == '"') return lex_string(kind);
  size_t begin = position_;
  while (position_ < text_.size() && continues_word(text_[position_])) ++position_;
  if (begin == position_) fail("a name must follow % or ^");
  token_.kind = kind;
  token_.text = text_.substr(begin, position_ - begin);
}

}  // namespace anabranch
