#include "anabranch/analysis/concurrency.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "anabranch/ir/communication.h"

namespace anabranch {
namespace {

constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();

/// The mirror of HappensBefore: walking back from the end, for each operator and stream the first
/// launch that starts only after the operator has completed.
class WalkBack {
 public:
  WalkBack(const Schedule& schedule, const HappensBefore& order, std::vector<uint32_t>& clock_of,
           std::vector<std::vector<uint32_t>>& clocks)
      : schedule_(schedule), order_(order), clock_of_(clock_of), clocks_(clocks) {}

  void run() {
    size_t stream_count = schedule_.streams.size();
    clocks_.emplace_back(stream_count, kNever);
    std::vector<uint32_t> current(stream_count, 0), next_launch(stream_count, kNever);
    std::vector<CommandPlace> places = replay_order(schedule_);
    for (auto it = places.rbegin(); it != places.rend(); ++it) {
      size_t s = it->stream.index();
      const Command& command = schedule_.streams[s].commands[it->index];
      if (const auto* launch = std::get_if<Launch>(&command)) {
        clock_of_[launch->node.index()] = current[s];
        next_launch[s] = order_.position(launch->node);
      } else if (const auto* wait = std::get_if<Wait>(&command)) {
        // What waits here comes after the event, and so does all that comes after it.
        std::vector<uint32_t> clock = clocks_[current[s]];
        clock[s] = next_launch[s];
        lower(event(wait->event), std::move(clock));
      } else {
        uint32_t promised = event(std::get<Record>(command).event);
        if (promised != 0) lower(current[s], clocks_[promised]);
      }
    }
  }

 private:
  /// The clock of an event; 0 when nobody waits for it.
  uint32_t& event(EventId id) {
    if (events_.size() <= id.index()) events_.resize(id.index() + 1, 0);
    return events_[id.index()];
  }

  /// Makes `slot` name a new clock: the earlier of its own and `other`.
  void lower(uint32_t& slot, std::vector<uint32_t> other) {
    const std::vector<uint32_t>& own = clocks_[slot];
    for (size_t i = 0; i < other.size(); ++i) other[i] = std::min(other[i], own[i]);
    slot = static_cast<uint32_t>(clocks_.size());
    clocks_.push_back(std::move(other));
  }

  const Schedule& schedule_;
  const HappensBefore& order_;
  std::vector<uint32_t>& clock_of_;
  std::vector<std::vector<uint32_t>>& clocks_;
  std::vector<uint32_t> events_;
};

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

bool computes(const Node& node) { return node.kind == NodeKind::Operator && !communicates(node); }

ConcurrentLaunches::ConcurrentLaunches(const Graph& graph, const Schedule& schedule,
                                       const HappensBefore& order)
    : order_(order), clock_of_(graph.nodes.size(), 0) {
  WalkBack(schedule, order, clock_of_, clocks_).run();
  for (const StreamProgram& program : schedule.streams) {
    launches_.push_back(static_cast<uint32_t>(std::count_if(
        program.commands.begin(), program.commands.end(),
        [](const Command& command) { return std::holds_alternative<Launch>(command); })));
  }
}

ConcurrentLaunches::Range ConcurrentLaunches::beside(NodeId node, StreamId stream) const {
  uint32_t after = clocks_[clock_of_[node.index()]][stream.index()];
  uint32_t last = after == kNever ? launches_[stream.index()] : after - 1;
  return {order_.completed(node, stream) + 1, last};
}

std::vector<uint32_t> concurrent_streams(const Graph& graph, const Schedule& schedule,
                                         const HappensBefore& order) {
  std::vector<uint32_t> width(graph.nodes.size(), 0);
  ConcurrentLaunches concurrent(graph, schedule, order);
  auto kernels = count_kernels(graph, schedule);
  auto caller = [&](size_t stream) { return stream == 0 || schedule.streams[stream].folded; };
  for (size_t s = 0; s < schedule.streams.size(); ++s) {
    std::optional<ConcurrentLaunches::Group> known;
    uint32_t known_width = 0;
    for (const Command& command : schedule.streams[s].commands) {
      const auto* launch = std::get_if<Launch>(&command);
      if (!launch || !computes(graph.node(launch->node))) continue;
      NodeId node = launch->node;
      if (concurrent.group(node) != known) {
        known = concurrent.group(node);
        known_width = 1;
        bool caller_counts = false;
        for (size_t t = 0; t < schedule.streams.size(); ++t) {
          if (t == s || (caller(t) && (caller(s) || caller_counts))) continue;
          ConcurrentLaunches::Range range = concurrent.beside(node, StreamId(t));
          bool beside = !range.empty() && kernels[t][range.last] > kernels[t][range.first - 1];
          if (!beside) continue;
          ++known_width;
          caller_counts = caller_counts || caller(t);
        }
      }
      width[node.index()] = known_width;
    }
  }
  return width;
}

}  // namespace anabranch
