// Happens-before of a schedule: the union of every stream's list order with record → wait, as
// vector clocks. Method: Mattern, "Virtual Time and Global States of Distributed Systems" (1989).
// Launches between two waits of a stream share one clock, so memory is streams × waits.
#pragma once

#include <cstdint>
#include <vector>

#include "anabranch/ir/graph.h"
#include "anabranch/schedule/schedule.h"

namespace anabranch {

class HappensBefore {
 public:
  /// Throws Error ("deadlock", "event-not-recorded", "event-recorded-twice") if no order exists.
  HappensBefore(const Graph& graph, const Schedule& schedule);

  /// True if `a` completes before `b` starts in every execution. False for a == b and for operators
  /// that the schedule does not launch.
  bool before(NodeId a, NodeId b) const;
  bool ordered(NodeId a, NodeId b) const { return before(a, b) || before(b, a); }

 private:
  struct Place {
    StreamId stream;
    uint32_t position = 0;  // 1-based position among the launches of its stream
    uint32_t clock = 0;     // index into clocks_
  };
  std::vector<Place> places_;                   // by NodeId
  std::vector<std::vector<uint32_t>> clocks_;   // by clock, by stream: launches known complete
};

}  // namespace anabranch
