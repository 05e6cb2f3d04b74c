#include "anabranch/schedule/lane_order.h"

#include <fmt/format.h>

#include <limits>
#include <queue>
#include <tuple>

namespace anabranch {
namespace {

/// Where a command stands relative to program order: a wait belongs before the launch that follows
/// it, a record after the launch before it.
struct Position {
  uint32_t node = 0;
  uint8_t side = 0;  // wait 0, launch 1, record 2
  auto operator<=>(const Position&) const = default;
};

std::vector<Position> positions_of(const std::vector<Command>& commands) {
  std::vector<Position> positions(commands.size());
  Position record;  // before everything, until there is a launch
  for (size_t i = 0; i < commands.size(); ++i) {
    if (const auto* launch = std::get_if<Launch>(&commands[i])) {
      auto launched = static_cast<uint32_t>(launch->node.index());
      positions[i] = {launched, 1};
      record = {launched, 2};
    } else if (std::holds_alternative<Record>(commands[i])) {
      positions[i] = record;
    }
  }
  uint32_t node = std::numeric_limits<uint32_t>::max();
  for (size_t i = commands.size(); i-- > 0;) {
    if (std::holds_alternative<Launch>(commands[i])) node = positions[i].node;
    if (std::holds_alternative<Wait>(commands[i])) positions[i] = {node, 0};
  }
  return positions;
}

/// Walks all lists at once, as the lanes will, always taking the earliest command that can go on.
class Walk {
 public:
  Walk(const Graph& graph, const Schedule& schedule)
      : graph_(graph),
        schedule_(schedule),
        next_(schedule.streams.size(), 0),
        recorded_(schedule.event_count, false),
        held_(schedule.event_count) {
    for (size_t s = 0; s < schedule.streams.size(); ++s) {
      positions_.push_back(positions_of(schedule.streams[s].commands));
      total_ += positions_.back().size();
      offer(s);
    }
  }

  std::vector<OrderedCommand> run() {
    std::vector<OrderedCommand> order;
    order.reserve(total_);
    while (!ready_.empty()) {
      size_t stream = std::get<1>(ready_.top());
      ready_.pop();
      const Command& command = schedule_.streams[stream].commands[next_[stream]];
      if (const auto* wait = std::get_if<Wait>(&command); wait && !recorded_[wait->event.index()]) {
        held_[wait->event.index()].push_back(stream);
        continue;
      }
      order.push_back({StreamId(stream), static_cast<uint32_t>(next_[stream]++)});
      offer(stream);
      if (const auto* record = std::get_if<Record>(&command)) release(record->event);
    }
    if (order.size() < total_) fail();
    return order;
  }

 private:
  void offer(size_t stream) {
    if (next_[stream] < positions_[stream].size())
      ready_.emplace(positions_[stream][next_[stream]], stream);
  }

  void release(EventId event) {
    recorded_[event.index()] = true;
    for (size_t stream : held_[event.index()]) offer(stream);
    held_[event.index()].clear();
  }

  [[noreturn]] void fail() const {
    std::string waiting;
    for (size_t event = 0; event < held_.size(); ++event) {
      for (size_t stream : held_[event]) {
        waiting += fmt::format("{}{} waits for e{}", waiting.empty() ? "" : ", ",
                               describe(schedule_.streams[stream].stream), event);
      }
    }
    throw Error("deadlock",
                fmt::format("the schedule of graph \"{}\" cannot end: {}", graph_.name, waiting),
                "record each event on another stream before the wait that needs it");
  }

  using Head = std::tuple<Position, size_t>;  // of a stream's next command
  const Graph& graph_;
  const Schedule& schedule_;
  std::vector<size_t> next_;
  std::vector<bool> recorded_;
  std::vector<std::vector<size_t>> held_;  // by event: the streams that wait for it
  std::vector<std::vector<Position>> positions_;
  std::priority_queue<Head, std::vector<Head>, std::greater<>> ready_;
  size_t total_ = 0;
};

}  // namespace

std::vector<OrderedCommand> lane_order(const Graph& graph, const Schedule& schedule) {
  return Walk(graph, schedule).run();
}

}  // namespace anabranch
