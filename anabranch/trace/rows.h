// Two calls of one program may run at the same time, so one stream may do two things at once. Rows
// are the lines a stream needs so that nothing drawn on one line overlaps.
#pragma once

#include <vector>

#include "anabranch/schedule/timeline.h"

namespace anabranch::trace {

struct Rows {
  std::vector<size_t> span;    // row of each span within its stream, from 0
  std::vector<size_t> arrow;   // row of each arrow's wait within its waiting stream
  std::vector<size_t> stream;  // rows of each stream, at least 1
};

/// One call keeps its row where it can. O(n log n + n × rows). Throws Error ("bad-timeline") if
/// the timeline names a stream that it does not have or if something ends before it begins.
Rows assign_rows(const Timeline& timeline);

/// The check alone.
void check_timeline(const Timeline& timeline);

}  // namespace anabranch::trace
