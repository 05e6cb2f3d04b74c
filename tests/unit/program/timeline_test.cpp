#include "anabranch/program/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "anabranch/backends/cpu/cpu_device.h"
#include "tests/conformance/harness.h"

namespace anabranch::testing {
namespace {

// stream 0: a, c    stream "1": b after a; c waits for b
constexpr const char* kGraph =
    "%x = input : i64[2] @b0\n"
    "%a = ref.add(%x, %x) : i64[2] @b1 at \"model.py\" 10 in \"forward\"\n"
    "%b = ref.mul(%a, %x) : i64[2] @b2\n"
    "%c = ref.sub(%b, %a) : i64[2] @b3\n"
    "return %c";
constexpr const char* kSchedule =
    "stream 0 \"\" { launch ^a; record e0; wait e1; launch ^c }\n"
    "stream 1 \"1\" priority -1 { wait e0; launch ^b threads 2; record e1 }";

class TimelineTest : public ::testing::Test {
 protected:
  Timeline record(int calls, const TypeNames& names = {}) {
    Timeline timeline;
    Recorder recorder;
    int64_t origin = now_ns();
    for (int call = 0; call < calls; ++call) {
      harness_.run({{"x", {1, 2}}}, &recorder);
      append_call(timeline, harness_.graph(), harness_.schedule(), recorder, call, origin, names);
    }
    return timeline;
  }
  const TimelineSpan& span(const Timeline& timeline, const std::string& name) {
    for (const TimelineSpan& found : timeline.spans) {
      if (found.name == name) return found;
    }
    throw std::out_of_range(name);
  }
  Harness harness_{std::make_shared<CpuDevice>(), kGraph, kSchedule};
};

TEST_F(TimelineTest, EveryLaunchIsASpanOnItsStream) {
  Timeline timeline = record(1);
  ASSERT_EQ(timeline.streams.size(), 2u);
  EXPECT_EQ(timeline.streams[1], (TimelineStream{"1", -1}));
  ASSERT_EQ(timeline.spans.size(), 3u);
  const TimelineSpan& a = span(timeline, "a");
  EXPECT_EQ(a.stream, 0u);
  EXPECT_EQ(a.op, "ref.add");
  EXPECT_EQ(a.type, "ref.add");
  EXPECT_EQ(a.operands, "i64[2], i64[2]");
  EXPECT_EQ(a.results, "i64[2]");
  EXPECT_EQ(a.source, (SourceLocation{"model.py", 10, "forward"}));
  EXPECT_EQ(a.program, "test");
  EXPECT_EQ(span(timeline, "b").stream, 1u);
  EXPECT_EQ(span(timeline, "b").threads, 2);
}

TEST_F(TimelineTest, TimesKeepTheOrderOfTheEvents) {
  Timeline timeline = record(1);
  const TimelineSpan &a = span(timeline, "a"), &b = span(timeline, "b"), &c = span(timeline, "c");
  EXPECT_GE(a.begin, 0);
  EXPECT_LE(a.begin, a.end);
  EXPECT_LE(a.end, b.begin);
  EXPECT_LE(b.end, c.begin);
}

TEST_F(TimelineTest, EveryWaitIsAnArrow) {
  Timeline timeline = record(1);
  ASSERT_EQ(timeline.arrows.size(), 2u);
  for (const TimelineArrow& arrow : timeline.arrows) {
    EXPECT_EQ(arrow.event, arrow.from_stream == 0 ? "e0: a → b" : "e1: b → c");
    EXPECT_EQ(arrow.to_stream, 1 - arrow.from_stream);
    EXPECT_LE(arrow.recorded, arrow.resumed);
    EXPECT_LE(arrow.waited_from, arrow.resumed);
  }
}

TEST_F(TimelineTest, CallsFollowEachOtherInOneTimeline) {
  Timeline timeline = record(3);
  EXPECT_EQ(timeline.streams.size(), 2u);
  ASSERT_EQ(timeline.spans.size(), 9u);
  EXPECT_EQ(timeline.spans.back().call, 2);
  EXPECT_EQ(timeline.arrows.size(), 6u);
}

TEST_F(TimelineTest, StreamsOfSeveralProgramsMeetByLabel) {
  Timeline timeline;
  timeline.streams = {{"other", 0}, {"1", 0}};
  Recorder recorder;
  harness_.run({{"x", {1, 2}}}, &recorder);
  append_call(timeline, harness_.graph(), harness_.schedule(), recorder, 0, 0);
  ASSERT_EQ(timeline.streams.size(), 3u);
  EXPECT_EQ(timeline.streams[2].label, "");
  EXPECT_EQ(span(timeline, "a").stream, 2u);
  EXPECT_EQ(span(timeline, "b").stream, 1u);
}

TEST_F(TimelineTest, TypesCanBeNamed) {
  Timeline timeline = record(1, [](const Node& node) { return "T" + node.name; });
  EXPECT_EQ(span(timeline, "c").type, "Tc");
}

}  // namespace
}  // namespace anabranch::testing
