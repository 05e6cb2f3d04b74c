#include "anabranch/formats/field_tree.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cstdlib>
#include <limits>

#include "anabranch/formats/quoting.h"

namespace anabranch::formats {
namespace {

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-' ||
         c == '+';
}

bool is_quote(char c) { return c == '"' || c == '\''; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

/// Reads up to `most` digits of `base` from `position` on; returns how many.
size_t read_digits(std::string_view text, size_t position, size_t most, int base, uint32_t& value) {
  size_t count = 0;
  value = 0;
  while (count < most && position + count < text.size()) {
    int digit = hex_digit(text[position + count]);
    if (digit < 0 || digit >= base) break;
    value = value * static_cast<uint32_t>(base) + static_cast<uint32_t>(digit);
    ++count;
  }
  return count;
}

char simple_escape(char c) {
  switch (c) {
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'a': return '\a';
    case 'b': return '\b';
    case 'f': return '\f';
    case 'v': return '\v';
    case '\\':
    case '"':
    case '\'':
    case '?': return c;
    default: return 0;
  }
}

/// An escape that neither C nor Python knows stays as it is: an unescaped Windows path, say.
std::string decode(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      out += raw[i];
      continue;
    }
    char kind = raw[i + 1];
    uint32_t value = 0;
    size_t digits = 0;
    if (char plain = simple_escape(kind)) {
      out += plain;
      ++i;
    } else if (kind >= '0' && kind <= '7') {
      digits = read_digits(raw, i + 1, 3, 8, value);
      out += static_cast<char>(value);
      i += digits;
    } else if ((kind == 'x' || kind == 'X') &&
               (digits = read_digits(raw, i + 2, 2, 16, value)) > 0) {
      out += static_cast<char>(value);
      i += 1 + digits;
    } else if (kind == 'u' && read_digits(raw, i + 2, 4, 16, value) == 4) {
      append_utf8(out, value);
      i += 5;
    } else if (kind == 'U' && read_digits(raw, i + 2, 8, 16, value) == 8 && value < 0x110000) {
      append_utf8(out, value);
      i += 9;
    } else {
      out += raw[i];
    }
  }
  return out;
}

}  // namespace

/// One pass over the text. What is open (messages, lists) is a vector, not the call stack.
class FieldReader {
 public:
  FieldReader(std::string_view text, FieldTree& tree) : text_(text), tree_(tree) {}

  void read() {
    while (step()) {
    }
    for (size_t i = open_.size(); i-- > 0;) {
      if (open_[i].close == ']') continue;
      Field& field = tree_.fields_[open_[i].field];
      field.complete = false;
      field.end = tree_.size();
    }
    if (tree_.problem_ || open_.empty()) return;
    if (open_.back().close == ']') {
      stop("truncated", fmt::format("the text ends inside the list '{}'", open_.back().name));
    } else {
      const Field& field = tree_.fields_[open_.back().field];
      stop("truncated", fmt::format("the text ends inside '{}', which begins at line {}",
                                    field.name, field.line));
    }
  }

 private:
  struct Open {
    char close;             // '}', '>' or ']'
    uint32_t field;         // of a message
    std::string_view name;  // of a list: the name of its items
  };

  /// Reads one field, one item or one closing bracket; false at the end or at an error.
  bool step() {
    skip_blank();
    if (position_ == text_.size()) return false;
    char c = text_[position_];
    if (c == ',' || c == ';') {
      ++position_;
      return true;
    }
    if (!open_.empty() && c == open_.back().close) return close();
    if (!open_.empty() && open_.back().close == ']') return read_value(open_.back().name, true);
    if (c == '}' || c == '>' || c == ']')
      return stop("syntax", fmt::format("'{}' closes nothing", c));
    std::string_view name;
    if (!read_name(name)) return false;
    skip_blank();
    bool colon = position_ < text_.size() && text_[position_] == ':';
    if (colon) {
      ++position_;
      skip_blank();
    }
    if (position_ == text_.size())
      return stop("truncated", fmt::format("the text ends after '{}'", name));
    return read_value(name, colon);
  }

  bool close() {
    if (open_.back().close != ']') tree_.fields_[open_.back().field].end = tree_.size();
    open_.pop_back();
    ++position_;
    return true;
  }

  bool read_name(std::string_view& name) {
    size_t begin = position_;
    if (text_[begin] == '[') {  // an extension or the type of an Any
      size_t end = text_.find_first_of("]\n", begin);
      if (end == std::string_view::npos || text_[end] == '\n')
        return stop("syntax", "'[' is not closed");
      name = text_.substr(begin, end + 1 - begin);
      position_ = end + 1;
      return true;
    }
    while (position_ < text_.size() && is_name_char(text_[position_])) ++position_;
    if (position_ == begin) {
      return stop("syntax", fmt::format("expected a field's name, found {}",
                                        quote_bytes(text_.substr(begin, 1))));
    }
    name = text_.substr(begin, position_ - begin);
    return true;
  }

  bool read_value(std::string_view name, bool colon) {
    char c = text_[position_];
    int line = line_;
    if (c == '{' || c == '<') {
      ++position_;
      open_.push_back({c == '{' ? '}' : '>', tree_.size(), {}});
      return add({name, {}, FieldKind::Message, true, line, 0});
    }
    if (!colon) {
      return stop("syntax", fmt::format("expected ':' or '{{' after '{}'", name));
    }
    if (c == '[') {
      ++position_;
      open_.push_back({']', 0, name});
      return true;
    }
    std::string_view value;
    if (is_quote(c))
      return read_strings(value) && add({name, value, FieldKind::String, true, line, 0});
    return read_scalar(name, value) && add({name, value, FieldKind::Scalar, true, line, 0});
  }

  bool add(Field field) {
    field.end = tree_.size() + 1;
    tree_.fields_.push_back(field);
    return true;
  }

  bool read_scalar(std::string_view name, std::string_view& value) {
    size_t begin = position_;
    bool minus = text_[begin] == '-';
    if (minus) {
      ++position_;
      skip_blank();
    }
    size_t digits = position_;
    while (position_ < text_.size() && is_name_char(text_[position_])) ++position_;
    if (position_ == digits) {
      if (position_ == text_.size())
        return stop("truncated", fmt::format("the text ends after '{}'", name));
      return stop("syntax", fmt::format("'{}' has no value that can be read", name));
    }
    value = text_.substr(begin, position_ - begin);
    if (minus && digits > begin + 1)
      value = keep("-" + std::string(text_.substr(digits, position_ - digits)));
    // A scalar that touches the end of a cut-off text may be half a number.
    if (position_ == text_.size() && !open_.empty()) {
      return stop("truncated", fmt::format("the text ends in the value of '{}'", name));
    }
    return true;
  }

  /// One string, or several in a row that count as one.
  bool read_strings(std::string_view& value) {
    if (!read_string(value)) return false;
    for (;;) {
      size_t position = position_;
      int line = line_;
      skip_blank();
      if (position_ == text_.size() || !is_quote(text_[position_])) {
        position_ = position;
        line_ = line;
        return true;
      }
      std::string_view more;
      if (!read_string(more)) return false;
      value = keep(std::string(value) + std::string(more));
    }
  }

  bool read_string(std::string_view& value) {
    char mark = text_[position_];
    int line = line_;
    size_t begin = ++position_;
    bool escaped = false;
    for (; position_ < text_.size(); ++position_) {
      char c = text_[position_];
      if (c == '\\') {
        escaped = true;
        if (++position_ < text_.size() && text_[position_] == '\n') ++line_;
      } else if (c == '\n') {
        ++line_;
      } else if (c == mark && ends_string(position_ + 1)) {
        std::string_view raw = text_.substr(begin, position_ - begin);
        value = escaped ? keep(decode(raw)) : raw;
        ++position_;
        return true;
      }
    }
    position_ = text_.size();
    return stop("truncated",
                fmt::format("the text ends in the string that begins at line {}", line));
  }

  /// TorchAir's writer does not escape names. What follows a true closing quote is the end of the
  /// line, punctuation, another string, or the next field; anything else means the string goes on.
  bool ends_string(size_t next) const {
    auto blank = [&] {
      while (next < text_.size() &&
             (text_[next] == ' ' || text_[next] == '\t' || text_[next] == '\r'))
        ++next;
      return next == text_.size() || text_[next] == '\n';
    };
    size_t begin = next;
    if (blank()) return true;
    char c = text_[next];
    if (std::string_view(",;]}>#").find(c) != std::string_view::npos || is_quote(c)) return true;
    if (next == begin) return false;
    if (c == '[') return true;
    size_t name = next;
    while (next < text_.size() && is_name_char(text_[next])) ++next;
    if (next == name) return false;
    if (blank()) return false;
    return text_[next] == ':' || text_[next] == '{' || text_[next] == '<';
  }

  void skip_blank() {
    while (position_ < text_.size()) {
      char c = text_[position_];
      if (c == '\n') {
        ++line_;
      } else if (c == '#') {
        while (position_ < text_.size() && text_[position_] != '\n') ++position_;
        continue;
      } else if (c != ' ' && c != '\t' && c != '\r' && c != '\f' && c != '\v') {
        return;
      }
      ++position_;
    }
  }

  std::string_view keep(std::string text) { return tree_.decoded_.emplace_back(std::move(text)); }

  bool stop(std::string rule, const std::string& message) {
    tree_.problem_ = Diagnostic{
        Severity::Error, std::move(rule), fmt::format("line {}: {}", line_, message), {}, {}};
    return false;
  }

  std::string_view text_;
  FieldTree& tree_;
  size_t position_ = 0;
  int line_ = 1;
  std::vector<Open> open_;
};

FieldTree::FieldTree(std::string_view text) {
  FieldReader(text.substr(0, std::numeric_limits<uint32_t>::max()), *this).read();
}

std::optional<uint32_t> FieldTree::child(uint32_t parent, std::string_view name) const {
  for (uint32_t i = parent + 1; i < fields_[parent].end; i = fields_[i].end) {
    if (fields_[i].name == name) return i;
  }
  return std::nullopt;
}

std::string FieldTree::print(uint32_t first, uint32_t last) const {
  std::string text;
  std::vector<uint32_t> open;  // ends of the messages around the field
  auto close_until = [&](uint32_t index) {
    while (!open.empty() && open.back() <= index) {
      open.pop_back();
      text += std::string(open.size() * 2, ' ') + "}\n";
    }
  };
  for (uint32_t i = first; i < last; ++i) {
    close_until(i);
    const Field& field = fields_[i];
    text.append(open.size() * 2, ' ');
    text += field.name;
    switch (field.kind) {
      case FieldKind::Message:
        text += " {\n";
        open.push_back(field.end);
        break;
      case FieldKind::String: text += fmt::format(": {}\n", quote_bytes(field.text)); break;
      case FieldKind::Scalar: text += fmt::format(": {}\n", field.text); break;
    }
  }
  close_until(last);
  return text;
}

std::optional<int64_t> parse_integer(std::string_view text) {
  bool negative = !text.empty() && text[0] == '-';
  if (negative) text.remove_prefix(1);
  int base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
    text.remove_prefix(1);
  }
  uint64_t value = 0;
  auto result = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size() || text.empty())
    return std::nullopt;
  uint64_t limit = static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) + (negative ? 1 : 0);
  if (value > limit) return std::nullopt;
  return static_cast<int64_t>(negative ? 0 - value : value);
}

std::optional<double> parse_real(std::string_view text) {
  if (text.size() > 1 && (text.back() == 'f' || text.back() == 'F') &&
      std::isdigit(static_cast<unsigned char>(text[text.size() - 2]))) {
    text.remove_suffix(1);
  } else if (text.size() > 1 && text.back() == 'f' && text[text.size() - 2] == '.') {
    text.remove_suffix(1);
  }
  double value = 0;
  auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ptr != text.data() + text.size() || text.empty()) return std::nullopt;
  // from_chars does not say whether it was too large or too small; strtod gives infinity or zero.
  if (result.ec == std::errc::result_out_of_range)
    return std::strtod(std::string(text).c_str(), nullptr);
  if (result.ec != std::errc()) return std::nullopt;
  return value;
}

}  // namespace anabranch::formats
