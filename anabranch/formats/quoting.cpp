#include "anabranch/formats/quoting.h"

#include <fmt/format.h>

namespace anabranch::formats {
namespace {

std::string quote_c(std::string_view text, bool keep_high_bytes) {
  std::string out = "\"";
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"': out += "\\\""; break;
      case '\'': out += "\\'"; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (byte < 0x20 || byte == 0x7f || (byte > 0x7f && !keep_high_bytes)) {
          out += fmt::format("\\{:03o}", byte);
        } else {
          out += c;
        }
    }
  }
  return out + '"';
}

}  // namespace

std::string quote_bytes(std::string_view text) { return quote_c(text, false); }

std::string quote_name(std::string_view text) { return quote_c(text, true); }

std::string quote_python(std::string_view text) {
  bool has_single = text.find('\'') != std::string_view::npos;
  bool has_double = text.find('"') != std::string_view::npos;
  char mark = has_single && !has_double ? '"' : '\'';
  std::string out(1, mark);
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == mark || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + mark;
}

}  // namespace anabranch::formats
