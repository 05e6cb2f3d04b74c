#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "anabranch/trace/labels.h"
#include "anabranch/trace/rows.h"
#include "anabranch/trace/trace.h"

namespace anabranch::trace {
namespace {

using Json = nlohmann::ordered_json;

// One process; the default stream's track has the same number, which viewers show as its main
// thread, and the default stream is the calling thread.
constexpr int kProcess = 1;

double microseconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1000; }

/// Finds the operators around a record and a wait, so that arrows end on operators.
class Neighbours {
 public:
  explicit Neighbours(const Timeline& timeline) : spans_(timeline.spans) {
    for (size_t i = 0; i < spans_.size(); ++i)
      by_call_[{spans_[i].stream, spans_[i].call}].push_back(i);
    for (auto& [key, list] : by_call_) {
      std::stable_sort(list.begin(), list.end(),
                       [&](size_t a, size_t b) { return spans_[a].begin < spans_[b].begin; });
    }
  }

  /// The last operator that had ended when the event was recorded.
  std::optional<size_t> recorded_after(const TimelineArrow& arrow) const {
    auto [list, next] = find(arrow.from_stream, arrow.call, arrow.recorded + 1);
    while (list && next > 0) {
      size_t span = (*list)[--next];
      if (spans_[span].end <= arrow.recorded && same_program(span, arrow)) return span;
    }
    return std::nullopt;
  }

  /// The first operator after the wait.
  std::optional<size_t> resumed_with(const TimelineArrow& arrow) const {
    auto [list, next] = find(arrow.to_stream, arrow.call, arrow.resumed);
    for (; list && next < list->size(); ++next) {
      if (same_program((*list)[next], arrow)) return (*list)[next];
    }
    return std::nullopt;
  }

 private:
  using List = std::vector<size_t>;

  /// The list of a stream and call, and the position of the first operator that begins at `time` or
  /// later.
  std::pair<const List*, size_t> find(size_t stream, int call, int64_t time) const {
    auto found = by_call_.find({stream, call});
    if (found == by_call_.end()) return {nullptr, 0};
    const List& list = found->second;
    auto next = std::partition_point(list.begin(), list.end(),
                                     [&](size_t span) { return spans_[span].begin < time; });
    return {&list, static_cast<size_t>(next - list.begin())};
  }

  bool same_program(size_t span, const TimelineArrow& arrow) const {
    return arrow.program.empty() || arrow.program == spans_[span].program;
  }

  const std::vector<TimelineSpan>& spans_;
  std::map<std::pair<size_t, int>, List> by_call_;
};

class Writer {
 public:
  explicit Writer(const Timeline& timeline)
      : timeline_(timeline), rows_(assign_rows(timeline)), neighbours_(timeline) {
    int next = static_cast<int>(timeline.streams.size()) + 1;
    for (size_t i = 0; i < timeline.streams.size(); ++i) {
      tracks_.push_back({static_cast<int>(i) + 1});
      while (tracks_[i].size() < rows_.stream[i]) tracks_[i].push_back(next++);
    }
  }

  std::string write() {
    write_metadata();
    for (size_t i = 0; i < timeline_.spans.size(); ++i) write_span(i);
    for (size_t i = 0; i < timeline_.arrows.size(); ++i) write_wait(i);
    // Viewers bind the end of an arrow to the slice that is open at its time: slices come first.
    for (size_t i = 0; i < timeline_.arrows.size(); ++i) write_flow(i);
    Json other{{"format", "anabranch timeline"},
               {"version", 1},
               {"title", timeline_.title},
               {"predicted", timeline_.predicted}};
    return "{\n\"displayTimeUnit\": \"ms\",\n\"otherData\": " + dump(other) +
           ",\n\"traceEvents\": [" + events_ + "\n]\n}\n";
  }

 private:
  // Names come from users' programs and need not be valid UTF-8; a viewer needs them to be.
  static std::string dump(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  void add(const Json& event) {
    events_ += events_.empty() ? "\n" : ",\n";
    events_ += dump(event);
  }

  void add_metadata(const char* name, int track, Json args) {
    add({{"ph", "M"},
         {"name", name},
         {"pid", kProcess},
         {"tid", track},
         {"args", std::move(args)}});
  }

  void write_metadata() {
    add_metadata("process_name", 1,
                 {{"name", timeline_.title.empty() ? "anabranch" : timeline_.title}});
    add_metadata("process_labels", 1, {{"labels", timeline_.predicted ? "predicted" : "recorded"}});
    int sort_index = 0;
    for (size_t i = 0; i < timeline_.streams.size(); ++i) {
      const TimelineStream& stream = timeline_.streams[i];
      for (size_t row = 0; row < tracks_[i].size(); ++row) {
        std::string name = stream_label(stream);
        if (row > 0) name += ", concurrent call " + std::to_string(row + 1);
        add_metadata("thread_name", tracks_[i][row],
                     {{"name", name},
                      {"stream", i},
                      {"label", stream.label},
                      {"priority", stream.priority}});
        add_metadata("thread_sort_index", tracks_[i][row], {{"sort_index", sort_index++}});
      }
    }
  }

  int track_of_span(size_t index) const {
    return tracks_[timeline_.spans[index].stream][rows_.span[index]];
  }
  int track_of_wait(size_t index) const {
    return tracks_[timeline_.arrows[index].to_stream][rows_.arrow[index]];
  }

  Json slice(const std::string& name, const char* category, int track, int64_t begin,
             int64_t end) const {
    return {{"ph", "X"},
            {"name", name},
            {"cat", category},
            {"pid", kProcess},
            {"tid", track},
            {"ts", microseconds(begin)},
            {"dur", microseconds(end - begin)}};
  }

  void write_span(size_t index) {
    const TimelineSpan& span = timeline_.spans[index];
    Json args{{"name", span.name},         {"type", span.type},       {"op", span.op},
              {"operands", span.operands}, {"results", span.results}, {"threads", span.threads},
              {"call", span.call},         {"program", span.program}};
    if (span.source != SourceLocation{}) {
      args["source"] = {{"file", span.source.file},
                        {"line", span.source.line},
                        {"function", span.source.function}};
    }
    Json event = slice(span_label(span), "operator", track_of_span(index), span.begin, span.end);
    event["args"] = std::move(args);
    add(event);
  }

  // Holds the whole arrow: the reader ignores the flow events.
  void write_wait(size_t index) {
    const TimelineArrow& arrow = timeline_.arrows[index];
    std::string name = arrow.event.empty() ? "wait" : "wait " + arrow.event;
    Json event = slice(name, "wait", track_of_wait(index), arrow.waited_from, arrow.resumed);
    event["args"] = {{"event", arrow.event},
                     {"from", stream_label(timeline_.streams[arrow.from_stream])},
                     {"from_stream", arrow.from_stream},
                     {"recorded", microseconds(arrow.recorded)},
                     {"call", arrow.call},
                     {"program", arrow.program}};
    add(event);
  }

  void write_flow(size_t index) {
    const TimelineArrow& arrow = timeline_.arrows[index];
    Json start{
        {"ph", "s"}, {"name", "event"}, {"cat", "event"}, {"id", index + 1}, {"pid", kProcess}};
    if (auto span = neighbours_.recorded_after(arrow)) {
      const TimelineSpan& recorder = timeline_.spans[*span];
      start["tid"] = track_of_span(*span);
      start["ts"] = microseconds(std::max(recorder.begin, recorder.end - 1));
    } else {
      // Recorded before its stream ran anything: the arrow needs a slice to start from.
      int track = tracks_[arrow.from_stream].front();
      add(slice("record " + arrow.event, "record", track, arrow.recorded, arrow.recorded + 1));
      start["tid"] = track;
      start["ts"] = microseconds(arrow.recorded);
    }
    add(start);
    Json finish{{"ph", "f"},      {"bp", "e"},       {"name", "event"},
                {"cat", "event"}, {"id", index + 1}, {"pid", kProcess}};
    if (auto span = neighbours_.resumed_with(arrow)) {
      finish["tid"] = track_of_span(*span);
      finish["ts"] = microseconds(timeline_.spans[*span].begin);
    } else {
      finish["tid"] = track_of_wait(index);
      finish["ts"] = microseconds(std::max(arrow.waited_from, arrow.resumed - 1));
    }
    add(finish);
  }

  const Timeline& timeline_;
  Rows rows_;
  Neighbours neighbours_;
  std::vector<std::vector<int>> tracks_;  // by stream and row
  std::string events_;
};

}  // namespace

std::string chrome_json(const Timeline& timeline) { return Writer(timeline).write(); }

}  // namespace anabranch::trace
