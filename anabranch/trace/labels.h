// How streams, operators and times are called in every form of a timeline.
#pragma once

#include <cstdint>
#include <string>

#include "anabranch/schedule/timeline.h"

namespace anabranch::trace {

/// "default stream", "stream 1 (priority 0)".
std::string stream_label(const TimelineStream& stream);

/// "stream 1": without the priority, for tables.
std::string short_stream_label(const TimelineStream& stream);

/// The operator's name, or the first thing known about it.
std::string span_label(const TimelineSpan& span);

/// Three digits and a unit: "0 ns", "812 ns", "3.21 µs", "98.4 ms", "1.23 s".
std::string duration_label(int64_t nanoseconds);

}  // namespace anabranch::trace
