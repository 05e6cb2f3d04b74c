#include "anabranch/analysis/happens_before.h"

#include <fmt/format.h>

#include <algorithm>

namespace anabranch {
namespace {

/// Walks the lists as a device would: a stream goes on until it meets an event that is not recorded
/// yet, and then sleeps until it is.
class Replay {
 public:
  explicit Replay(const Schedule& schedule)
      : schedule_(schedule), next_(schedule.streams.size(), 0) {
    size_t events = schedule.event_count;
    for (const StreamProgram& program : schedule.streams) {
      for (const Command& command : program.commands) events = std::max(events, event_end(command));
    }
    recorded_.resize(events, false);
    sleepers_.resize(events);
  }

  std::vector<CommandPlace> run() {
    std::vector<size_t> awake;
    for (size_t i = schedule_.streams.size(); i-- > 0;) awake.push_back(i);
    while (!awake.empty()) {
      size_t stream = awake.back();
      awake.pop_back();
      advance(stream, awake);
    }
    for (size_t i = 0; i < next_.size(); ++i) {
      if (next_[i] < schedule_.streams[i].commands.size()) fail(i);
    }
    return std::move(order_);
  }

 private:
  static size_t event_end(const Command& command) {
    if (const auto* record = std::get_if<Record>(&command)) return record->event.index() + 1;
    if (const auto* wait = std::get_if<Wait>(&command)) return wait->event.index() + 1;
    return 0;
  }

  void advance(size_t stream, std::vector<size_t>& awake) {
    const std::vector<Command>& commands = schedule_.streams[stream].commands;
    for (; next_[stream] < commands.size(); ++next_[stream]) {
      const Command& command = commands[next_[stream]];
      if (const auto* wait = std::get_if<Wait>(&command)) {
        size_t event = wait->event.index();
        if (!recorded_[event]) {
          sleepers_[event].push_back(stream);
          return;
        }
      } else if (const auto* record = std::get_if<Record>(&command)) {
        size_t event = record->event.index();
        if (recorded_[event]) {
          throw Error("event-recorded-twice", fmt::format("event e{} is recorded twice", event),
                      "record each event once in a call");
        }
        recorded_[event] = true;
        awake.insert(awake.end(), sleepers_[event].begin(), sleepers_[event].end());
        sleepers_[event].clear();
      }
      order_.push_back({StreamId(stream), next_[stream]});
    }
  }

  [[noreturn]] void fail(size_t stream) const {
    const StreamProgram& program = schedule_.streams[stream];
    EventId event = std::get<Wait>(program.commands[next_[stream]]).event;
    bool known = false;
    for (const StreamProgram& other : schedule_.streams) {
      for (const Command& command : other.commands) {
        const auto* record = std::get_if<Record>(&command);
        known = known || (record && record->event == event);
      }
    }
    std::string where = describe(program.stream);
    if (!known) {
      throw Error(
          "event-not-recorded",
          fmt::format("{} waits for event e{}, which nothing records", where, event.index()),
          "record the event, or leave the wait out");
    }
    throw Error(
        "deadlock",
        fmt::format("{} waits for event e{}, which is only recorded after streams that wait "
                    "for each other",
                    where, event.index()),
        "break the circle of waits");
  }

  const Schedule& schedule_;
  std::vector<size_t> next_;  // by stream: the next command
  std::vector<bool> recorded_;
  std::vector<std::vector<size_t>> sleepers_;  // by event
  std::vector<CommandPlace> order_;
};

}  // namespace

std::vector<CommandPlace> replay_order(const Schedule& schedule) { return Replay(schedule).run(); }

HappensBefore::HappensBefore(const Graph& graph, const Schedule& schedule)
    : places_(graph.nodes.size()), stream_count_(schedule.streams.size()) {
  struct Moment {  // what an event promises: a clock and a place in its own stream
    uint32_t clock = 0;
    uint32_t stream = 0;
    uint32_t position = 0;
  };
  clocks_.resize(stream_count_, 0);
  std::vector<uint32_t> clock_of(stream_count_, 0), launched(stream_count_, 0);
  std::vector<Moment> events(schedule.event_count);
  for (auto [stream, index] : replay_order(schedule)) {
    size_t s = stream.index();
    const Command& command = schedule.streams[s].commands[index];
    if (const auto* launch = std::get_if<Launch>(&command)) {
      Place& place = places_[launch->node.index()];
      if (place.stream.valid()) {
        throw Error("launch-twice", describe(graph.node(launch->node)) + " is launched twice",
                    "launch each operator once");
      }
      place = {stream, ++launched[s], clock_of[s]};
    } else if (const auto* record = std::get_if<Record>(&command)) {
      if (events.size() <= record->event.index()) events.resize(record->event.index() + 1);
      events[record->event.index()] = {clock_of[s], static_cast<uint32_t>(s), launched[s]};
    } else {
      const Moment& moment = events[std::get<Wait>(command).event.index()];
      size_t begin = clocks_.size();
      clocks_.resize(begin + stream_count_);
      const uint32_t* own = &clocks_[clock_of[s] * stream_count_];
      const uint32_t* gained = &clocks_[moment.clock * stream_count_];
      uint32_t* clock = &clocks_[begin];
      for (size_t i = 0; i < stream_count_; ++i) clock[i] = std::max(own[i], gained[i]);
      clock[moment.stream] = std::max(clock[moment.stream], moment.position);
      clock_of[s] = static_cast<uint32_t>(begin / stream_count_);
    }
  }
}

uint32_t HappensBefore::completed(NodeId node, StreamId stream) const {
  const Place& place = places_[node.index()];
  if (place.stream == stream) return place.position - 1;
  return clocks_[place.clock * stream_count_ + stream.index()];
}

bool HappensBefore::before(NodeId a, NodeId b) const {
  const Place& first = places_[a.index()];
  const Place& second = places_[b.index()];
  if (!first.stream.valid() || !second.stream.valid() || a == b) return false;
  return completed(b, first.stream) >= first.position;
}

}  // namespace anabranch
