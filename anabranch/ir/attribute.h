// Attributes of operators, such as the scope keys of docs/stream-model.md (`_user_stream_label`).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace anabranch {

/// The kinds of value that a GE attribute can hold and that a scope can set.
using Attribute = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>,
                               std::vector<std::string>>;

/// Ordered by key, so that every text form is deterministic.
using Attributes = std::map<std::string, Attribute, std::less<>>;

namespace keys {
inline constexpr std::string_view kStreamLabel = "_user_stream_label";
inline constexpr std::string_view kStreamPriority = "_user_stream_priority";
inline constexpr std::string_view kInnerParallel = "_enable_inner_parallel";
inline constexpr std::string_view kAssignedStream = "_stream_label";
inline constexpr std::string_view kWrites = "_anabranch_writes";
}  // namespace keys

/// The string under `key`, or nullptr when it is absent or of another kind.
const std::string* find_string(const Attributes& attributes, std::string_view key);

/// `"text"`, `true`, `3`, `0.5`, `[1,2]`, `["a","b"]`.
std::string to_string(const Attribute& attribute);

}  // namespace anabranch
