// One order of all commands of a schedule in which every wait comes after its record.
#pragma once

#include <cstdint>
#include <vector>

#include "anabranch/schedule/schedule.h"

namespace anabranch {

struct OrderedCommand {
  StreamId stream;
  uint32_t index = 0;  // into the stream's commands
  bool operator==(const OrderedCommand&) const = default;
};

/// Lanes that walk their streams' parts of this order cannot block each other, whichever streams
/// share a lane: the first command that has not been walked never waits. Of the possible orders it
/// is the one nearest to program order, records as early and waits as late as they can be.
/// Throws Error ("deadlock") that names the streams that wait for each other.
std::vector<OrderedCommand> lane_order(const Graph& graph, const Schedule& schedule);

}  // namespace anabranch
