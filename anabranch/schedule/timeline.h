// When each operator of a call ran, recorded or predicted. Times are nanoseconds from the start of
// the timeline. Plain data: backends and the simulator fill it, trace/ shows it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "anabranch/base/diagnostic.h"

namespace anabranch {

struct TimelineSpan {
  size_t stream = 0;     // index into Timeline::streams
  int64_t begin = 0;     // ns
  int64_t end = 0;       // ns
  std::string name;      // "mm_1"
  std::string type;      // "MatMul"
  std::string op;        // "aten.mm.default"
  std::string operands;  // "f16[1000,1000], f16[1000,1000]"
  std::string results;   // "f16[1000,1000]"
  SourceLocation source;
  int threads = 0;      // intra-op threads; 0: not limited
  int call = 0;         // which call of the program, from 0
  std::string program;  // the graph's name

  bool operator==(const TimelineSpan&) const = default;
};

/// A cross-stream wait: drawn as an arrow from where the event was recorded to where the waiting
/// stream went on.
struct TimelineArrow {
  size_t from_stream = 0;
  int64_t recorded = 0;  // ns
  size_t to_stream = 0;
  int64_t waited_from = 0;  // ns, when the waiting stream reached its wait
  int64_t resumed = 0;      // ns, when it went on
  std::string event;        // "e3: add → mm"
  int call = 0;
  std::string program;  // the graph's name; may be empty when the timeline has one program

  bool operator==(const TimelineArrow&) const = default;
};

struct TimelineStream {
  std::string label;  // "" is the default stream
  int64_t priority = 0;

  bool operator==(const TimelineStream&) const = default;
};

struct Timeline {
  std::string title;
  bool predicted = false;
  std::vector<TimelineStream> streams;
  std::vector<TimelineSpan> spans;
  std::vector<TimelineArrow> arrows;

  bool operator==(const Timeline&) const = default;
};

}  // namespace anabranch
