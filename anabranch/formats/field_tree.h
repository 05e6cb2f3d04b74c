// Text of a protobuf message as a tree of fields, without a schema. Reads what protobuf prints and
// what hand-made writers print almost right.
//
// Accepted: `name: scalar`, `name { … }`, `name: < … >`, lists `name: [a, b]` and `[{…}, {…}]` (one
// field per item), `;` and `,` after fields, `#` comments, adjacent strings (joined), C and Python
// escapes, `[extension.name]` and numbers as field names. An unescaped quote inside a string is
// tolerated when the rest of its line shows that the string goes on.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "anabranch/base/diagnostic.h"

namespace anabranch::formats {

enum class FieldKind : uint8_t {
  Message,
  String,
  Scalar
};  // Scalar: number, enum value, true, false

struct Field {
  std::string_view name;
  std::string_view text;  // String: decoded; Scalar: as written
  FieldKind kind = FieldKind::Scalar;
  bool complete = true;  // false: the input ended inside this message
  int line = 1;
  uint32_t end = 0;  // one past the last field below this one
};

/// Fields in the order of the text, each message directly before its contents. Move-only in effect:
/// views point into the source text, which must outlive the tree, and into the tree.
class FieldTree {
 public:
  /// Never throws on bad text: `problem()` says where reading stopped, the fields until there stay.
  /// Linear time, no recursion.
  explicit FieldTree(std::string_view text);
  FieldTree(FieldTree&&) = default;
  FieldTree& operator=(FieldTree&&) = default;

  const Field& operator[](uint32_t index) const { return fields_[index]; }
  uint32_t size() const { return static_cast<uint32_t>(fields_.size()); }
  const std::optional<Diagnostic>& problem() const { return problem_; }

  /// Calls visit(index) for each field directly inside `parent`.
  template <class Visit>
  void for_each_child(uint32_t parent, Visit&& visit) const {
    for (uint32_t i = parent + 1; i < fields_[parent].end; i = fields_[i].end) visit(i);
  }
  /// Calls visit(index) for each field of the outermost message.
  template <class Visit>
  void for_each_root(Visit&& visit) const {
    for (uint32_t i = 0; i < size(); i = fields_[i].end) visit(i);
  }
  /// Index of the first child of that name; empty when there is none.
  std::optional<uint32_t> child(uint32_t parent, std::string_view name) const;

  /// The fields [first, last) as protobuf prints them: two spaces per level, `s: "x"`, `m {`.
  /// Iterative, like everything here.
  std::string print(uint32_t first, uint32_t last) const;

 private:
  friend class FieldReader;
  std::vector<Field> fields_;
  std::deque<std::string> decoded_;  // a deque: views must stay valid while it grows
  std::optional<Diagnostic> problem_;
};

/// Decimal, hexadecimal or octal; empty when it is none or does not fit.
std::optional<int64_t> parse_integer(std::string_view text);
/// Also inf, nan, and an `f` at the end.
std::optional<double> parse_real(std::string_view text);

}  // namespace anabranch::formats
