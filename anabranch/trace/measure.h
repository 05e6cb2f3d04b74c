// The numbers of a timeline: how busy the streams were and how much they overlapped. The page, the
// text summary and the benchmarks all take them from here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "anabranch/schedule/timeline.h"

namespace anabranch::trace {

struct StreamMeasure {
  size_t operators = 0;
  int64_t busy = 0;     // ns in which at least one operator ran
  int64_t waiting = 0;  // ns in which the stream waited for events and ran nothing
  int64_t idle = 0;     // the rest of the wall time
};

/// Two streams that both ran something.
struct PairMeasure {
  size_t first = 0;
  size_t second = 0;
  int64_t overlap = 0;  // ns in which both ran an operator
  double share = 0;     // overlap / the smaller busy time: 1 means fully hidden, 0 serial
};

struct Measures {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t busy = 0;                    // sum over the streams
  std::vector<StreamMeasure> streams;  // by index
  std::vector<PairMeasure> pairs;      // first < second, ascending

  int64_t wall() const { return end - begin; }
  /// Streams busy on average.
  double parallelism() const { return wall() > 0 ? static_cast<double>(busy) / wall() : 0; }
};

/// One call of one program, with its own numbers.
struct CallMeasures {
  std::string program;
  int call = 0;
  Measures measures;
};

/// The whole timeline as one: time between two calls counts as idle. Throws Error ("bad-timeline").
Measures measure(const Timeline& timeline);

/// Each call, ordered by its begin.
std::vector<CallMeasures> measure_calls(const Timeline& timeline);

}  // namespace anabranch::trace
