// Timelines of a few lines for the tests of trace/.
#pragma once

#include <string>
#include <utility>

#include "anabranch/schedule/timeline.h"

namespace anabranch::trace {

/// Streams "", then the given labels with priority -1, -2, …
inline Timeline make_streams(std::initializer_list<const char*> labels) {
  Timeline timeline;
  timeline.streams.push_back({"", 0});
  for (const char* label : labels) {
    timeline.streams.push_back({label, -static_cast<int64_t>(timeline.streams.size())});
  }
  return timeline;
}

inline TimelineSpan make_span(size_t stream, int64_t begin, int64_t end, std::string name,
                              int call = 0) {
  TimelineSpan span;
  span.stream = stream;
  span.begin = begin;
  span.end = end;
  span.name = std::move(name);
  span.call = call;
  return span;
}

inline TimelineArrow make_arrow(size_t from, int64_t recorded, size_t to, int64_t waited_from,
                                int64_t resumed, std::string event, int call = 0) {
  return {from, recorded, to, waited_from, resumed, std::move(event), call, ""};
}

/// The two-stream example: add on the default stream feeds a matmul on "1", while the default
/// stream multiplies too; "2" adds when that is done.
///
///   default  add 0..1000      mm_1 1010..101000
///   1        wait 5..1005     mm 1010..103000
///   2        wait 7..101003                       add_1 101010..102000
inline Timeline two_streams() {
  Timeline timeline = make_streams({"1", "2"});
  timeline.title = "two_streams";
  timeline.spans = {make_span(0, 0, 1000, "add"), make_span(1, 1010, 103000, "mm"),
                    make_span(0, 1010, 101000, "mm_1"), make_span(2, 101010, 102000, "add_1")};
  for (TimelineSpan& span : timeline.spans) {
    bool add = span.name.starts_with("add");
    span.type = add ? "Add" : "MatMul";
    span.op = add ? "aten.add.Tensor" : "aten.mm.default";
    span.operands = "f16[1000,1000], f16[1000,1000]";
    span.results = "f16[1000,1000]";
    span.source = {"model in work.py", 12, "Model.forward"};
    span.threads = 1;
    span.program = "forward";
  }
  timeline.arrows = {make_arrow(0, 1001, 1, 5, 1005, "e0: add → mm"),
                     make_arrow(0, 101001, 2, 7, 101003, "e1: mm_1 → add_1")};
  return timeline;
}

}  // namespace anabranch::trace
