#include "anabranch/trace/rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "anabranch/trace/labels.h"

namespace anabranch::trace {
namespace {

struct Item {
  size_t stream;
  int64_t begin;
  int64_t end;
  int call;
  size_t* row;
};

struct RowEnd {
  int64_t end;
  int call;
};

[[noreturn]] void fail(const std::string& message) {
  throw Error("bad-timeline", message, "report this: what wrote the timeline is wrong");
}

size_t place(std::vector<RowEnd>& rows, const Item& item) {
  size_t chosen = rows.size();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].end > item.begin) continue;
    if (chosen == rows.size()) chosen = i;
    if (rows[i].call == item.call) {
      chosen = i;
      break;
    }
  }
  if (chosen == rows.size()) rows.emplace_back();
  rows[chosen] = {item.end, item.call};
  return chosen;
}

}  // namespace

void check_timeline(const Timeline& timeline) {
  auto check_stream = [&](size_t stream, const std::string& what) {
    if (stream >= timeline.streams.size()) {
      fail(fmt::format("{} is on stream {}, the timeline has {}", what, stream,
                       timeline.streams.size()));
    }
  };
  for (const TimelineSpan& span : timeline.spans) {
    check_stream(span.stream, "operator " + span_label(span));
    if (span.end < span.begin) fail("operator " + span_label(span) + " ends before it begins");
  }
  for (const TimelineArrow& arrow : timeline.arrows) {
    check_stream(arrow.from_stream, "the record of " + arrow.event);
    check_stream(arrow.to_stream, "the wait for " + arrow.event);
    if (arrow.resumed < arrow.waited_from)
      fail("the wait for " + arrow.event + " ends before it begins");
  }
}

Rows assign_rows(const Timeline& timeline) {
  check_timeline(timeline);
  Rows rows;
  rows.span.resize(timeline.spans.size());
  rows.arrow.resize(timeline.arrows.size());
  std::vector<Item> items;
  items.reserve(timeline.spans.size() + timeline.arrows.size());
  for (size_t i = 0; i < timeline.spans.size(); ++i) {
    const TimelineSpan& span = timeline.spans[i];
    items.push_back({span.stream, span.begin, span.end, span.call, &rows.span[i]});
  }
  for (size_t i = 0; i < timeline.arrows.size(); ++i) {
    const TimelineArrow& arrow = timeline.arrows[i];
    items.push_back(
        {arrow.to_stream, arrow.waited_from, arrow.resumed, arrow.call, &rows.arrow[i]});
  }
  // By begin, then end: something of no length stays on the row of what follows it.
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  std::vector<std::vector<RowEnd>> ends(timeline.streams.size());
  for (const Item& item : items) *item.row = place(ends[item.stream], item);
  for (const auto& stream : ends) rows.stream.push_back(std::max<size_t>(1, stream.size()));
  return rows;
}

}  // namespace anabranch::trace
