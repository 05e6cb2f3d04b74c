#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "anabranch/trace/labels.h"
#include "anabranch/trace/measure.h"
#include "anabranch/trace/trace.h"

namespace anabranch::trace {
namespace {

std::string count(size_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string with_share(int64_t part, int64_t whole) {
  double percent = whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
  return fmt::format("{} ({:.1f} %)", duration_label(part), percent);
}

void append_streams(std::string& text, const Timeline& timeline, const Measures& measures) {
  auto out = std::back_inserter(text);
  size_t width = 6;
  for (const TimelineStream& stream : timeline.streams)
    width = std::max(width, stream_label(stream).size());
  fmt::format_to(out, "{:<{}}  {:>9}  {:>18}  {:>18}  {:>18}\n", "stream", width, "operators",
                 "busy", "waiting", "idle");
  for (size_t i = 0; i < timeline.streams.size(); ++i) {
    const StreamMeasure& stream = measures.streams[i];
    fmt::format_to(
        out, "{:<{}}  {:>9}  {:>18}  {:>18}  {:>18}\n", stream_label(timeline.streams[i]), width,
        stream.operators, with_share(stream.busy, measures.wall()),
        with_share(stream.waiting, measures.wall()), with_share(stream.idle, measures.wall()));
  }
}

void append_pairs(std::string& text, const Timeline& timeline, std::vector<PairMeasure> pairs) {
  auto out = std::back_inserter(text);
  std::stable_sort(pairs.begin(), pairs.end(), [](const PairMeasure& a, const PairMeasure& b) {
    return a.overlap > b.overlap;
  });
  std::vector<std::string> names;
  size_t width = 0;
  for (const PairMeasure& pair : pairs) {
    names.push_back(short_stream_label(timeline.streams[pair.first]) + " + " +
                    short_stream_label(timeline.streams[pair.second]));
    width = std::max(width, names.back().size());
  }
  text += "\noverlap, as a share of the smaller busy time\n";
  for (size_t i = 0; i < pairs.size(); ++i) {
    fmt::format_to(out, "{:<{}}  {:5.1f} %  {}\n", names[i], width, 100 * pairs[i].share,
                   duration_label(pairs[i].overlap));
  }
}

}  // namespace

std::string summary(const Timeline& timeline) {
  Measures measures = measure(timeline);
  std::string text = fmt::format(
      "{} ({}): {}, {}, {}\n", timeline.title.empty() ? "timeline" : timeline.title,
      timeline.predicted ? "predicted" : "recorded", count(timeline.streams.size(), "stream"),
      count(timeline.spans.size(), "operator"), count(measure_calls(timeline).size(), "call"));
  text += fmt::format("wall {}, busy {}, parallelism {:.2f}\n\n", duration_label(measures.wall()),
                      duration_label(measures.busy), measures.parallelism());
  append_streams(text, timeline, measures);
  if (!measures.pairs.empty()) append_pairs(text, timeline, measures.pairs);
  return text;
}

}  // namespace anabranch::trace
