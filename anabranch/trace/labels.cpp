#include "anabranch/trace/labels.h"

#include <fmt/format.h>

#include <cmath>

namespace anabranch::trace {

std::string short_stream_label(const TimelineStream& stream) {
  return stream.label.empty() ? "default stream" : "stream " + stream.label;
}

std::string stream_label(const TimelineStream& stream) {
  if (stream.label.empty()) return short_stream_label(stream);
  return fmt::format("{} (priority {})", short_stream_label(stream), stream.priority);
}

std::string span_label(const TimelineSpan& span) {
  for (const std::string* text : {&span.name, &span.type, &span.op}) {
    if (!text->empty()) return *text;
  }
  return "operator";
}

std::string duration_label(int64_t nanoseconds) {
  constexpr const char* kUnits[] = {"ns", "µs", "ms", "s"};
  double value = static_cast<double>(nanoseconds);
  size_t unit = 0;
  while (unit + 1 < std::size(kUnits) && std::abs(value) >= 999.5) {
    value /= 1000;
    ++unit;
  }
  double size = std::abs(value);
  int decimals = unit == 0 || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, decimals, kUnits[unit]);
}

}  // namespace anabranch::trace
