#include "anabranch/trace/measure.h"

#include <algorithm>
#include <map>
#include <utility>

#include "anabranch/trace/rows.h"

namespace anabranch::trace {
namespace {

struct Selection {
  std::vector<const TimelineSpan*> spans;
  std::vector<const TimelineArrow*> arrows;
};

/// An operator or a wait begins (+1) or ends (-1).
struct Step {
  int64_t time;
  size_t stream;
  int change;
  bool wait;
};

/// Sweeps over all begins and ends; between two of them the set of running streams is constant.
class Sweep {
 public:
  Sweep(size_t stream_count, Measures& measures)
      : measures_(measures), running_(stream_count), waiting_(stream_count) {}

  void run(std::vector<Step> steps) {
    std::sort(steps.begin(), steps.end(),
              [](const Step& a, const Step& b) { return a.time < b.time; });
    int64_t now = measures_.begin;
    for (const Step& step : steps) {
      if (step.time > now) account(step.time - now);
      now = step.time;
      change(step);
    }
  }

  const std::map<std::pair<size_t, size_t>, int64_t>& overlaps() const { return overlaps_; }

 private:
  void change(const Step& step) {
    int& count = (step.wait ? waiting_ : running_)[step.stream];
    bool before = count > 0;
    count += step.change;
    if (before == (count > 0)) return;
    std::vector<size_t>& active = step.wait ? active_waits_ : active_;
    if (before) {
      active.erase(std::find(active.begin(), active.end(), step.stream));
    } else {
      active.insert(std::lower_bound(active.begin(), active.end(), step.stream), step.stream);
    }
  }

  void account(int64_t time) {
    for (size_t i = 0; i < active_.size(); ++i) {
      measures_.streams[active_[i]].busy += time;
      for (size_t k = i + 1; k < active_.size(); ++k) overlaps_[{active_[i], active_[k]}] += time;
    }
    for (size_t stream : active_waits_) {
      if (running_[stream] == 0) measures_.streams[stream].waiting += time;
    }
  }

  Measures& measures_;
  std::vector<int> running_, waiting_;         // by stream: how many operators or waits now
  std::vector<size_t> active_, active_waits_;  // streams whose count is not 0, ascending
  std::map<std::pair<size_t, size_t>, int64_t> overlaps_;
};

Measures measure_selection(size_t stream_count, const Selection& selection) {
  Measures measures;
  measures.streams.resize(stream_count);
  std::vector<Step> steps;
  for (const TimelineSpan* span : selection.spans) {
    ++measures.streams[span->stream].operators;
    steps.push_back({span->begin, span->stream, 1, false});
    steps.push_back({span->end, span->stream, -1, false});
  }
  for (const TimelineArrow* arrow : selection.arrows) {
    steps.push_back({arrow->waited_from, arrow->to_stream, 1, true});
    steps.push_back({arrow->resumed, arrow->to_stream, -1, true});
  }
  if (!steps.empty()) {
    auto [first, last] = std::minmax_element(
        steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.time < b.time; });
    measures.begin = first->time;
    measures.end = last->time;
  }
  Sweep sweep(stream_count, measures);
  sweep.run(std::move(steps));
  for (StreamMeasure& stream : measures.streams) {
    stream.idle = measures.wall() - stream.busy - stream.waiting;
    measures.busy += stream.busy;
  }
  for (size_t i = 0; i < stream_count; ++i) {
    for (size_t k = i + 1; k < stream_count; ++k) {
      int64_t smaller = std::min(measures.streams[i].busy, measures.streams[k].busy);
      if (smaller == 0) continue;
      auto found = sweep.overlaps().find({i, k});
      int64_t overlap = found == sweep.overlaps().end() ? 0 : found->second;
      measures.pairs.push_back({i, k, overlap, static_cast<double>(overlap) / smaller});
    }
  }
  return measures;
}

}  // namespace

Measures measure(const Timeline& timeline) {
  check_timeline(timeline);
  Selection all;
  for (const TimelineSpan& span : timeline.spans) all.spans.push_back(&span);
  for (const TimelineArrow& arrow : timeline.arrows) all.arrows.push_back(&arrow);
  return measure_selection(timeline.streams.size(), all);
}

std::vector<CallMeasures> measure_calls(const Timeline& timeline) {
  check_timeline(timeline);
  std::map<std::pair<std::string, int>, Selection> selections;
  for (const TimelineSpan& span : timeline.spans) {
    selections[{span.program, span.call}].spans.push_back(&span);
  }
  // An arrow that names no program belongs to the only one there is.
  std::string only = timeline.spans.empty() ? std::string() : timeline.spans.front().program;
  for (const TimelineArrow& arrow : timeline.arrows) {
    selections[{arrow.program.empty() ? only : arrow.program, arrow.call}].arrows.push_back(&arrow);
  }
  std::vector<CallMeasures> calls;
  for (const auto& [key, selection] : selections) {
    calls.push_back({key.first, key.second, measure_selection(timeline.streams.size(), selection)});
  }
  std::stable_sort(calls.begin(), calls.end(), [](const CallMeasures& a, const CallMeasures& b) {
    return a.measures.begin < b.measures.begin;
  });
  return calls;
}

}  // namespace anabranch::trace
