// Happens-before of a schedule: the union of every stream's list order with record → wait, as
// vector clocks. Method: Mattern, "Virtual Time and Global States of Distributed Systems" (1989).
// Launches between two waits of a stream share one clock, so memory is streams × waits.
#pragma once

#include <cstdint>
#include <vector>

#include "anabranch/ir/graph.h"
#include "anabranch/schedule/schedule.h"

namespace anabranch {

/// A command of a schedule: streams[stream].commands[index].
struct CommandPlace {
  StreamId stream;
  size_t index = 0;
};

/// All commands in an order that every stream's list and record → wait allow. Throws Error
/// ("deadlock", "event-not-recorded", "event-recorded-twice") if there is none.
std::vector<CommandPlace> replay_order(const Schedule& schedule);

/// Immutable after construction; safe to ask from many threads.
class HappensBefore {
 public:
  /// Throws Error as replay_order does, and ("launch-twice") for an operator launched twice.
  HappensBefore(const Graph& graph, const Schedule& schedule);

  /// True if `a` completes before `b` starts in every execution. False for a == b and for operators
  /// that the schedule does not launch.
  bool before(NodeId a, NodeId b) const;
  bool ordered(NodeId a, NodeId b) const { return before(a, b) || before(b, a); }

  /// The launch's stream; invalid when the schedule does not launch it.
  StreamId stream(NodeId node) const { return places_[node.index()].stream; }
  /// 1-based position among the launches of its stream.
  uint32_t position(NodeId node) const { return places_[node.index()].position; }
  /// How many launches of `stream`, from its first on, complete before `node` starts.
  uint32_t completed(NodeId node, StreamId stream) const;
  /// Launches of one stream with equal numbers know the same launches of the other streams.
  uint32_t clock(NodeId node) const { return places_[node.index()].clock; }

 private:
  struct Place {
    StreamId stream;
    uint32_t position = 0;
    uint32_t clock = 0;  // index into clocks_
  };
  std::vector<Place> places_;  // by NodeId
  size_t stream_count_ = 0;
  std::vector<uint32_t> clocks_;  // by clock and stream: launches known complete
};

}  // namespace anabranch
