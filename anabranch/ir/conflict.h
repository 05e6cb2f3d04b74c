// The one rule that says which two uses of memory must keep their order. Ordering, reuse of memory
// and the verifier all ask it.
#pragma once

#include <cstdint>
#include <limits>

#include "anabranch/base/ids.h"

namespace anabranch {

/// Read: sees the contents. Write: replaces the whole range. Update: reads and changes it.
enum class Access : uint8_t { Read, Write, Update };

/// Bytes [begin, end) of a buffer, a conservative hull of a strided window.
struct ByteRange {
  int64_t begin = 0;
  int64_t end = std::numeric_limits<int64_t>::max();

  static constexpr ByteRange whole() { return {}; }
  constexpr bool empty() const { return begin >= end; }
  constexpr bool overlaps(const ByteRange& other) const {
    return begin < other.end && other.begin < end;
  }
  constexpr bool contains(const ByteRange& other) const {
    return begin <= other.begin && other.end <= end;
  }
  bool operator==(const ByteRange&) const = default;
};

/// What one operator does to one buffer (or to a resource with an order, see uses.h).
struct Use {
  BufferId buffer;
  ByteRange range;
  Access access = Access::Read;
  ValueId value;  // through which the buffer is used; invalid for resources

  constexpr bool writes() const { return access != Access::Read; }
  bool operator==(const Use&) const = default;
};

/// True if the two uses must stay in program order: same buffer, common bytes, and at least one of
/// them changes it.
constexpr bool conflicts(const Use& a, const Use& b) {
  return a.buffer == b.buffer && (a.writes() || b.writes()) && a.range.overlaps(b.range);
}

}  // namespace anabranch
