#include "anabranch/program/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace anabranch {
namespace {

std::string short_type(const Type& type) {
  const auto* tensor = std::get_if<TensorType>(&type);
  if (!tensor) return to_string(type);
  std::string sizes;
  for (const Expr& size : tensor->sizes) sizes += (sizes.empty() ? "" : ",") + to_string(size);
  return fmt::format("{}[{}]", to_string(tensor->dtype), sizes);
}

std::string types_text(const Graph& graph, const std::vector<ValueId>& values) {
  std::string text;
  for (ValueId value : values) {
    if (!text.empty()) text += ", ";
    text += short_type(graph.value(value).type);
  }
  return text;
}

/// The operators next to an event's record and wait, for the arrow's text.
struct EventEnds {
  std::optional<StreamId> stream;  // that records it
  NodeId before;                   // the last launch before the record
};

std::vector<EventEnds> event_ends(const Schedule& schedule) {
  std::vector<EventEnds> ends(schedule.event_count);
  for (size_t s = 0; s < schedule.streams.size(); ++s) {
    NodeId last;
    for (const Command& command : schedule.streams[s].commands) {
      if (const auto* launch = std::get_if<Launch>(&command)) last = launch->node;
      if (const auto* record = std::get_if<Record>(&command))
        ends[record->event.index()] = {StreamId(s), last};
    }
  }
  return ends;
}

NodeId launch_after_wait(const StreamProgram& program, EventId event) {
  bool seen = false;
  for (const Command& command : program.commands) {
    if (const auto* wait = std::get_if<Wait>(&command)) seen |= wait->event == event;
    if (const auto* launch = std::get_if<Launch>(&command); launch && seen) return launch->node;
  }
  return {};
}

class Appender {
 public:
  Appender(Timeline& timeline, const Graph& graph, const Schedule& schedule,
           const Recorder& recorder, int call, int64_t origin, const TypeNames& type_of)
      : timeline_(timeline),
        graph_(graph),
        schedule_(schedule),
        recorder_(recorder),
        call_(call),
        origin_(origin),
        type_of_(type_of),
        recorded_(schedule.event_count) {}

  void append() {
    for (const StreamProgram& program : schedule_.streams)
      place_.push_back(find_stream(schedule_.lanes.cores > 0 ? Stream{} : program.stream));
    for (const Stream& stream : graph_.streams) label_place_.push_back(find_stream(stream));
    size_t count = std::min(recorder_.streams().size(), schedule_.streams.size());
    for (size_t s = 0; s < count; ++s) {
      for (const Recorder::Span& span : recorder_.streams()[s].launches) append_span(s, span);
      for (const Recorder::Recorded& record : recorder_.streams()[s].records) {
        recorded_[record.event.index()] = record.at;
      }
    }
    std::vector<EventEnds> ends = event_ends(schedule_);
    for (size_t s = 0; s < count; ++s) {
      for (const Recorder::Waited& wait : recorder_.streams()[s].waits) append_arrow(s, wait, ends);
    }
  }

 private:
  size_t find_stream(const Stream& stream) {
    for (size_t i = 0; i < timeline_.streams.size(); ++i) {
      if (timeline_.streams[i].label == stream.label) return i;
    }
    timeline_.streams.push_back({stream.label, stream.priority});
    return timeline_.streams.size() - 1;
  }

  /// Lanes are no streams: what runs on one is shown where the user put it.
  size_t track(size_t stream, NodeId node) const {
    if (schedule_.lanes.cores == 0 || !node.valid()) return place_[stream];
    return label_place_[graph_.node(node).stream.index()];
  }

  void append_span(size_t stream, const Recorder::Span& recorded) {
    const Node& node = graph_.node(recorded.launch.node);
    TimelineSpan span;
    span.stream = track(stream, recorded.launch.node);
    span.begin = recorded.begin - origin_;
    span.end = recorded.end - origin_;
    span.name = node.name;
    span.type = type_of_ ? type_of_(node) : node.op;
    span.op = node.op;
    span.operands = types_text(graph_, graph_.value_operands(recorded.launch.node));
    span.results = types_text(graph_, node.results);
    span.source = node.source;
    span.threads = recorded.launch.threads;
    span.call = call_;
    span.program = graph_.name;
    timeline_.spans.push_back(std::move(span));
  }

  void append_arrow(size_t stream, const Recorder::Waited& wait,
                    const std::vector<EventEnds>& ends) {
    const EventEnds& end = ends[wait.event.index()];
    if (!end.stream) return;
    NodeId after = launch_after_wait(schedule_.streams[stream], wait.event);
    auto name = [&](NodeId node, const char* none) {
      return node.valid() ? graph_.node(node).name : none;
    };
    TimelineArrow arrow;
    arrow.from_stream = track(end.stream->index(), end.before);
    arrow.recorded = recorded_[wait.event.index()] - origin_;
    arrow.to_stream = track(stream, after);
    if (schedule_.lanes.cores > 0 && arrow.from_stream == arrow.to_stream) return;
    arrow.waited_from = wait.begin - origin_;
    arrow.resumed = wait.end - origin_;
    arrow.event = fmt::format("e{}: {} → {}", wait.event.index(), name(end.before, "start"),
                              name(after, "end"));
    arrow.call = call_;
    arrow.program = graph_.name;
    timeline_.arrows.push_back(std::move(arrow));
  }

  Timeline& timeline_;
  const Graph& graph_;
  const Schedule& schedule_;
  const Recorder& recorder_;
  int call_;
  int64_t origin_;
  const TypeNames& type_of_;
  std::vector<size_t> place_;        // by the schedule's streams: index into the timeline's
  std::vector<size_t> label_place_;  // by StreamId of the graph
  std::vector<int64_t> recorded_;    // by EventId
};

}  // namespace

void append_call(Timeline& timeline, const Graph& graph, const Schedule& schedule,
                 const Recorder& recorder, int call, int64_t origin, const TypeNames& type_of) {
  Appender(timeline, graph, schedule, recorder, call, origin, type_of).append();
}

}  // namespace anabranch
