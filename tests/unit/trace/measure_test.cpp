#include "anabranch/trace/measure.h"

#include <gtest/gtest.h>

#include "anabranch/trace/labels.h"
#include "anabranch/trace/rows.h"
#include "anabranch/trace/trace.h"
#include "sample.h"

namespace anabranch::trace {
namespace {

TEST(Measure, BusyWaitingIdle) {
  // default  a 0..60            b 80..100
  // s        wait 10..40  c 40..100
  Timeline timeline = make_streams({"s"});
  timeline.spans = {make_span(0, 0, 60, "a"), make_span(1, 40, 100, "c"),
                    make_span(0, 80, 100, "b")};
  timeline.arrows = {make_arrow(0, 40, 1, 10, 40, "e0")};
  Measures measures = measure(timeline);
  EXPECT_EQ(measures.wall(), 100);
  EXPECT_EQ(measures.busy, 140);
  EXPECT_DOUBLE_EQ(measures.parallelism(), 1.4);
  ASSERT_EQ(measures.streams.size(), 2u);
  EXPECT_EQ(measures.streams[0].operators, 2u);
  EXPECT_EQ(measures.streams[0].busy, 80);
  EXPECT_EQ(measures.streams[0].waiting, 0);
  EXPECT_EQ(measures.streams[0].idle, 20);
  EXPECT_EQ(measures.streams[1].busy, 60);
  EXPECT_EQ(measures.streams[1].waiting, 30);
  EXPECT_EQ(measures.streams[1].idle, 10);
  ASSERT_EQ(measures.pairs.size(), 1u);
  EXPECT_EQ(measures.pairs[0].overlap, 20 + 20);
  EXPECT_DOUBLE_EQ(measures.pairs[0].share, 40.0 / 60);
}

TEST(Measure, SerialStreamsDoNotOverlap) {
  // default  a 0..10
  // s                b 10..30
  Timeline timeline = make_streams({"s", "unused"});
  timeline.spans = {make_span(0, 0, 10, "a"), make_span(1, 10, 30, "b")};
  Measures measures = measure(timeline);
  ASSERT_EQ(measures.pairs.size(), 1u) << "a stream that ran nothing has no pair";
  EXPECT_EQ(measures.pairs[0].overlap, 0);
  EXPECT_DOUBLE_EQ(measures.parallelism(), 1.0);
}

TEST(Measure, ConcurrentCallsCountOnce) {
  // default  call 0: a 0..10
  //          call 1:    a 4..14, waits 2..4 while call 0 runs
  Timeline timeline = make_streams({});
  timeline.spans = {make_span(0, 0, 10, "a", 0), make_span(0, 4, 14, "a", 1)};
  timeline.arrows = {make_arrow(0, 3, 0, 2, 4, "e0", 1)};
  Measures all = measure(timeline);
  EXPECT_EQ(all.streams[0].busy, 14);
  EXPECT_EQ(all.streams[0].waiting, 0);
  std::vector<CallMeasures> calls = measure_calls(timeline);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].measures.wall(), 10);
  EXPECT_EQ(calls[1].measures.wall(), 12);
  EXPECT_EQ(calls[1].measures.streams[0].waiting, 2);
}

TEST(Measure, CallsOfTwoProgramsByBegin) {
  // Two programs, both with a call 0, the later one first in the list.
  Timeline timeline = make_streams({});
  timeline.spans = {make_span(0, 50, 60, "b"), make_span(0, 0, 10, "a")};
  timeline.spans[0].program = "decode";
  timeline.spans[1].program = "prefill";
  std::vector<CallMeasures> calls = measure_calls(timeline);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].program, "prefill");
  EXPECT_EQ(calls[1].program, "decode");
}

TEST(Measure, EmptyTimeline) {
  Measures measures = measure(make_streams({}));
  EXPECT_EQ(measures.wall(), 0);
  EXPECT_EQ(measures.parallelism(), 0);
  EXPECT_TRUE(measure_calls(make_streams({})).empty());
}

TEST(Measure, BadTimelines) {
  auto rule = [](const Timeline& timeline) -> std::string {
    try {
      measure(timeline);
    } catch (const Error& error) {
      return error.diagnostics().front().rule;
    }
    return "";
  };
  Timeline timeline = make_streams({});
  timeline.spans = {make_span(1, 0, 10, "a")};
  EXPECT_EQ(rule(timeline), "bad-timeline");
  timeline.spans = {make_span(0, 10, 9, "a")};
  EXPECT_EQ(rule(timeline), "bad-timeline");
  timeline.spans.clear();
  timeline.arrows = {make_arrow(3, 0, 0, 0, 1, "e0")};
  EXPECT_EQ(rule(timeline), "bad-timeline");
  timeline.arrows = {make_arrow(0, 0, 0, 2, 1, "e0")};
  EXPECT_EQ(rule(timeline), "bad-timeline");
}

TEST(Rows, OneRowUnlessCallsOverlap) {
  EXPECT_EQ(assign_rows(two_streams()).stream, (std::vector<size_t>{1, 1, 1}));
  // call 0: a 0..10, b 12..20    call 1: a 5..15, b 15..25
  Timeline timeline = make_streams({});
  timeline.spans = {make_span(0, 0, 10, "a", 0), make_span(0, 5, 15, "a", 1),
                    make_span(0, 12, 20, "b", 0), make_span(0, 15, 25, "b", 1)};
  Rows rows = assign_rows(timeline);
  EXPECT_EQ(rows.stream, (std::vector<size_t>{2}));
  EXPECT_EQ(rows.span, (std::vector<size_t>{0, 1, 0, 1}));
}

TEST(Labels, Durations) {
  EXPECT_EQ(duration_label(0), "0 ns");
  EXPECT_EQ(duration_label(812), "812 ns");
  EXPECT_EQ(duration_label(3214), "3.21 µs");
  EXPECT_EQ(duration_label(98'420'000), "98.4 ms");
  EXPECT_EQ(duration_label(999'960'000), "1.00 s");
  EXPECT_EQ(duration_label(-1500), "-1.50 µs");
}

TEST(Labels, Streams) {
  EXPECT_EQ(stream_label({"", 0}), "default stream");
  EXPECT_EQ(stream_label({"1", -2}), "stream 1 (priority -2)");
}

TEST(Summary, SaysTheNumbers) {
  std::string text = summary(two_streams());
  EXPECT_NE(text.find("two_streams (recorded): 3 streams, 4 operators, 1 call\n"),
            std::string::npos)
      << text;
  // busy: default 1000 + 99990, "1" 101990, "2" 990
  EXPECT_NE(text.find("wall 103 µs, busy 204 µs, parallelism 1.98\n"), std::string::npos) << text;
  EXPECT_NE(text.find("default stream + stream 1   99.0 %  100 µs\n"), std::string::npos) << text;
  EXPECT_NE(text.find("stream 1 + stream 2        100.0 %  990 ns\n"), std::string::npos) << text;
  EXPECT_NE(text.find("default stream + stream 2    0.0 %  0 ns\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace anabranch::trace
