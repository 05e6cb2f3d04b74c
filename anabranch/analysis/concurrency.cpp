#include "anabranch/analysis/concurrency.h"

#include <algorithm>
#include <limits>

#include "anabranch/ir/communication.h"

namespace anabranch {
namespace {

constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();

/// The mirror of HappensBefore: walking back from the end, for each operator and stream the first
/// launch that starts only after the operator has completed.
class FirstAfter {
 public:
  FirstAfter(const Graph& graph, const Schedule& schedule, const HappensBefore& order)
      : clock_of_(graph.nodes.size(), 0) {
    size_t stream_count = schedule.streams.size();
    clocks_.emplace_back(stream_count, kNever);
    std::vector<uint32_t> current(stream_count, 0), next_launch(stream_count, kNever);
    std::vector<uint32_t> events;  // by event: its clock; 0 when nobody waits for it
    std::vector<CommandPlace> places = replay_order(schedule);
    for (auto it = places.rbegin(); it != places.rend(); ++it) {
      size_t s = it->stream.index();
      const Command& command = schedule.streams[s].commands[it->index];
      if (const auto* launch = std::get_if<Launch>(&command)) {
        clock_of_[launch->node.index()] = current[s];
        next_launch[s] = order.position(launch->node);
      } else if (const auto* wait = std::get_if<Wait>(&command)) {
        // What waits here comes after the event, and so does all that comes after it.
        std::vector<uint32_t> clock = clocks_[current[s]];
        clock[s] = next_launch[s];
        lower(event(events, wait->event), std::move(clock));
      } else {
        uint32_t promised = event(events, std::get<Record>(command).event);
        if (promised != 0) lower(current[s], clocks_[promised]);
      }
    }
  }

  uint32_t clock(NodeId node) const { return clock_of_[node.index()]; }
  /// 1-based position in `stream`, or kNever. Not for the operator's own stream.
  uint32_t position(NodeId node, size_t stream) const { return clocks_[clock(node)][stream]; }

 private:
  static uint32_t& event(std::vector<uint32_t>& events, EventId id) {
    if (events.size() <= id.index()) events.resize(id.index() + 1, 0);
    return events[id.index()];
  }

  /// Makes `slot` name a new clock: the earlier of its own and `other`.
  void lower(uint32_t& slot, std::vector<uint32_t> other) {
    const std::vector<uint32_t>& own = clocks_[slot];
    for (size_t i = 0; i < other.size(); ++i) other[i] = std::min(other[i], own[i]);
    slot = static_cast<uint32_t>(clocks_.size());
    clocks_.push_back(std::move(other));
  }

  std::vector<uint32_t> clock_of_;             // by NodeId
  std::vector<std::vector<uint32_t>> clocks_;  // by clock, by stream
};

/// True for an operator that keeps cores busy while it runs.
bool computes(const Node& node) {
  return node.kind == NodeKind::Operator && !communicates(node);
}

/// By stream: operators that compute among the first n launches, for every n.
std::vector<std::vector<uint32_t>> count_kernels(const Graph& graph, const Schedule& schedule) {
  std::vector<std::vector<uint32_t>> counts(schedule.streams.size());
  for (size_t s = 0; s < counts.size(); ++s) {
    counts[s].push_back(0);
    for (const Command& command : schedule.streams[s].commands) {
      const auto* launch = std::get_if<Launch>(&command);
      if (!launch) continue;
      counts[s].push_back(counts[s].back() + computes(graph.node(launch->node)));
    }
  }
  return counts;
}

}  // namespace

std::vector<uint32_t> concurrent_streams(const Graph& graph, const Schedule& schedule,
                                         const HappensBefore& order) {
  std::vector<uint32_t> width(graph.nodes.size(), 0);
  FirstAfter after(graph, schedule, order);
  auto kernels = count_kernels(graph, schedule);
  for (size_t s = 0; s < schedule.streams.size(); ++s) {
    // Neighbours with the same clocks on both sides have the same streams beside them.
    uint32_t known_clock = kNever, known_after = kNever, known_width = 0;
    for (const Command& command : schedule.streams[s].commands) {
      const auto* launch = std::get_if<Launch>(&command);
      if (!launch || !computes(graph.node(launch->node))) continue;
      NodeId node = launch->node;
      if (order.clock(node) != known_clock || after.clock(node) != known_after) {
        known_clock = order.clock(node);
        known_after = after.clock(node);
        known_width = 1;
        for (size_t t = 0; t < schedule.streams.size(); ++t) {
          if (t == s) continue;
          uint32_t first = order.completed(node, StreamId(t));
          uint32_t launches = static_cast<uint32_t>(kernels[t].size()) - 1;
          uint32_t position = after.position(node, t);
          uint32_t last = position == kNever ? launches : position - 1;
          if (last > first && kernels[t][last] > kernels[t][first]) ++known_width;
        }
      }
      width[node.index()] = known_width;
    }
  }
  return width;
}

}  // namespace anabranch
