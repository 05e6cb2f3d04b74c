// Strong identifiers. Each names one kind of thing, so that a stream can never be passed where an
// event is meant. An id is an index into the vector that owns the thing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

namespace anabranch {

template <class Tag>
class Id {
 public:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  constexpr Id() = default;
  constexpr explicit Id(size_t index) : index_(static_cast<uint32_t>(index)) {}

  /// Position in the owning vector. Meaningless unless valid().
  constexpr size_t index() const { return index_; }
  constexpr bool valid() const { return index_ != kNone; }
  constexpr auto operator<=>(const Id&) const = default;

 private:
  uint32_t index_ = kNone;
};

using NodeId = Id<struct NodeTag>;      // operator of a graph; its index is its program position
using ValueId = Id<struct ValueTag>;    // result of an operator
using BufferId = Id<struct BufferTag>;  // memory that values view, or a resource with an order
using StreamId = Id<struct StreamTag>;  // logical stream of one graph; 0 is the default stream
using EventId = Id<struct EventTag>;    // cross-stream event of one schedule

inline constexpr StreamId kDefaultStream{0};

}  // namespace anabranch

template <class Tag>
struct std::hash<anabranch::Id<Tag>> {
  size_t operator()(anabranch::Id<Tag> id) const noexcept { return id.index(); }
};
