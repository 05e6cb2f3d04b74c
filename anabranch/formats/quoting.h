// Strings as the text forms of the dumps quote them.
#pragma once

#include <string>
#include <string_view>

namespace anabranch::formats {

/// In double quotes with C escapes, as protobuf's text format prints bytes: everything outside
/// printable ASCII is an octal escape.
std::string quote_bytes(std::string_view text);

/// The same, but bytes above 0x7f stay: names remain readable as UTF-8.
std::string quote_name(std::string_view text);

/// As Python writes a bytes object, without the b: single quotes unless only they occur inside.
std::string quote_python(std::string_view text);

}  // namespace anabranch::formats
