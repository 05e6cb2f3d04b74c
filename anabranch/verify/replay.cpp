#include "anabranch/verify/replay.h"

#include <fmt/format.h>

#include <algorithm>

namespace anabranch::verify {

Replay::Replay(const Graph& graph, const Schedule& schedule, std::vector<Diagnostic>& findings)
    : graph_(graph), schedule_(schedule), findings_(findings), places_(graph.nodes.size()) {
  check_launches();
  if (!find_records()) return;
  sort_commands();
}

void Replay::report(const char* rule, std::string message, std::string fix, const Node* node) {
  std::vector<SourceLocation> where;
  if (node && node->source.known()) where.push_back(node->source);
  findings_.push_back(
      {Severity::Error, rule, std::move(message), std::move(fix), std::move(where)});
}

void Replay::check_launches() {
  std::vector<bool> seen(graph_.nodes.size(), false);
  bool many = schedule_.streams.size() > 1 && schedule_.lanes.cores == 0;
  for (size_t s = 0; s < schedule_.streams.size(); ++s) {
    const StreamProgram& program = schedule_.streams[s];
    for (const Command& one : program.commands) {
      const auto* launch = std::get_if<Launch>(&one);
      if (!launch) continue;
      if (launch->node.index() >= graph_.nodes.size() || !graph_.node(launch->node).launches()) {
        report(
            "launch-unknown",
            fmt::format("{} launches what is no operator of the graph", describe(program.stream)),
            "launch only operators and waits");
        continue;
      }
      const Node& node = graph_.node(launch->node);
      if (seen[launch->node.index()]) {
        report("launch-twice",
               fmt::format("{} is launched again on {}", describe(node), describe(program.stream)),
               "launch each operator once", &node);
      }
      seen[launch->node.index()] = true;
      if (many && node.stream.index() != s) {
        report("wrong-stream",
               fmt::format("{} is launched on {} (stream {}), but belongs to stream {}",
                           describe(node), describe(program.stream), s, node.stream.index()),
               "launch it on the stream of its label", &node);
      }
    }
  }
  for (size_t i = 0; i < seen.size(); ++i) {
    if (seen[i] || !graph_.nodes[i].launches()) continue;
    report("launch-missing", describe(graph_.nodes[i]) + " is never launched",
           "launch it on the stream of its label", &graph_.nodes[i]);
  }
}

bool Replay::find_records() {
  bool good = true;
  auto grow = [&](EventId event) {
    if (event.index() < record_.size()) return;
    record_.resize(event.index() + 1);
    waits_.resize(event.index() + 1);
  };
  record_.resize(schedule_.event_count);
  waits_.resize(schedule_.event_count);
  for (uint32_t s = 0; s < schedule_.streams.size(); ++s) {
    const auto& commands = schedule_.streams[s].commands;
    for (uint32_t k = 0; k < commands.size(); ++k) {
      if (const auto* wait = std::get_if<Wait>(&commands[k])) {
        grow(wait->event);
        waits_[wait->event.index()].push_back({s, k});
      } else if (const auto* record = std::get_if<Record>(&commands[k])) {
        grow(record->event);
        auto& place = record_[record->event.index()];
        if (place) {
          good = false;
          report("event-recorded-twice",
                 fmt::format("event e{} is recorded on {} and again on {}", record->event.index(),
                             describe(schedule_.streams[place->stream].stream),
                             describe(schedule_.streams[s].stream)),
                 "record each event once in a call");
        }
        place = Point{s, k};
      }
    }
  }
  for (size_t e = 0; e < record_.size(); ++e) {
    if (waits_[e].empty() || (record_[e] && e < schedule_.event_count)) continue;
    good = false;
    std::string reason = record_[e]
                             ? fmt::format("the schedule has only {} events", schedule_.event_count)
                             : "nothing records it";
    report("event-not-recorded",
           fmt::format("{} waits for event e{}, but {}",
                       describe(schedule_.streams[waits_[e][0].stream].stream), e, reason),
           fmt::format("record e{} after the operator to wait for", e));
  }
  return good;
}

void Replay::sort_commands() {
  size_t stream_count = schedule_.streams.size();
  clocks_.emplace_back(stream_count, 0);
  clock_now_.resize(stream_count, 0);
  launched_.resize(stream_count, 0);
  next_.resize(stream_count, 0);
  event_clock_.resize(record_.size(), 0);
  // A wait has two predecessors, the others one: the command before them in their list.
  std::vector<Point> ready;
  auto settle = [&](uint32_t stream) {
    const auto& commands = schedule_.streams[stream].commands;
    if (next_[stream] >= commands.size()) return;
    const auto* wait = std::get_if<Wait>(&commands[next_[stream]]);
    if (wait) {
      const Point& record = *record_[wait->event.index()];
      if (next_[record.stream] <= record.index) return;  // the record wakes it
    }
    ready.push_back({stream, next_[stream]});
  };
  for (uint32_t s = 0; s < stream_count; ++s) settle(s);
  while (!ready.empty()) {
    Point point = ready.back();
    ready.pop_back();
    step(point);
    ++next_[point.stream];
    if (const auto* record = std::get_if<Record>(&command(point))) {
      for (const Point& wait : waits_[record->event.index()]) {
        if (wait.stream != point.stream && next_[wait.stream] == wait.index) ready.push_back(wait);
      }
    }
    settle(point.stream);
  }
  has_order_ = true;
  for (size_t s = 0; s < stream_count; ++s) {
    has_order_ = has_order_ && next_[s] == schedule_.streams[s].commands.size();
  }
  if (!has_order_) report_deadlock();
}

void Replay::step(Point point) {
  uint32_t s = point.stream;
  const Command& one = command(point);
  if (const auto* launch = std::get_if<Launch>(&one)) {
    ++launched_[s];
    if (launch->node.index() < places_.size()) {
      LaunchPlace& place = places_[launch->node.index()];
      if (place.position == 0) place = {s, launched_[s], clock_now_[s], rank_};
      ++rank_;
    }
    return;
  }
  if (const auto* record = std::get_if<Record>(&one)) {
    std::vector<uint32_t> clock = clocks_[clock_now_[s]];
    clock[s] = launched_[s];
    event_clock_[record->event.index()] = static_cast<uint32_t>(clocks_.size());
    clocks_.push_back(std::move(clock));
    return;
  }
  std::vector<uint32_t> clock = clocks_[clock_now_[s]];
  const std::vector<uint32_t>& gained = clocks_[event_clock_[std::get<Wait>(one).event.index()]];
  std::transform(clock.begin(), clock.end(), gained.begin(), clock.begin(),
                 [](uint32_t a, uint32_t b) { return std::max(a, b); });
  clock_now_[s] = static_cast<uint32_t>(clocks_.size());
  clocks_.push_back(std::move(clock));
}

void Replay::report_deadlock() {
  std::string message = "the streams wait for each other:";
  for (size_t s = 0; s < schedule_.streams.size(); ++s) {
    const StreamProgram& program = schedule_.streams[s];
    if (next_[s] >= program.commands.size()) continue;
    EventId event = std::get<Wait>(program.commands[next_[s]]).event;
    message += fmt::format(" {} waits for e{}, which {} records later;", describe(program.stream),
                           event.index(),
                           describe(schedule_.streams[record_[event.index()]->stream].stream));
  }
  message.pop_back();
  report("deadlock", std::move(message), "record each event before the waits that lead back to it");
}

bool Replay::before(NodeId a, NodeId b) const {
  const LaunchPlace& first = places_[a.index()];
  const LaunchPlace& second = places_[b.index()];
  if (first.stream == second.stream) return first.position < second.position;
  return clocks_[second.clock][first.stream] >= first.position;
}

}  // namespace anabranch::verify
