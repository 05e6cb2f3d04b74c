#include "anabranch/schedule/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "anabranch/ir/text.h"

namespace anabranch {
namespace {

using testing::HasSubstr;

Graph two() { return parse_graph("anabranch 1 graph \"g\" { ^a op() ^\"b c\" op() return }"); }

constexpr const char* kText = R"(schedule {
  stream 0 "" priority 0 inner_parallel true {
    launch ^a threads 3;
    record e0
  }
  stream 1 "x y" priority -1 inner_parallel false {
    wait e0;
    launch ^"b c" exclusive
  }
  stream 2 "idle" priority 0 inner_parallel true folded {
  }
  buffer b4 acquire ^a release ^a ^"b c" at 64 size 4096
  buffer b5 acquire ^a release
}
)";

TEST(ScheduleText, PrintOfParseIsAFixedPoint) {
  Graph graph = two();
  EXPECT_EQ(print_schedule(graph, parse_schedule(graph, kText)), kText);
}

TEST(ScheduleText, ReadsWhatItSays) {
  Schedule schedule = parse_schedule(two(), kText);
  EXPECT_EQ(schedule.event_count, 1u);
  ASSERT_EQ(schedule.streams.size(), 3u);
  EXPECT_EQ(schedule.streams[0].commands[0], Command(Launch{NodeId(0), 3, false}));
  EXPECT_EQ(schedule.streams[1].commands[1], Command(Launch{NodeId(1), 0, true}));
  EXPECT_EQ(schedule.streams[1].stream, (Stream{"x y", -1, false}));
  EXPECT_FALSE(schedule.streams[1].folded);
  EXPECT_TRUE(schedule.streams[2].folded);
  EXPECT_EQ(schedule.buffers[0].placement, (Placement{64, 4096}));
  EXPECT_FALSE(schedule.buffers[1].placement);
}

std::string error_of(const char* text) {
  try {
    parse_schedule(two(), text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ScheduleText, Errors) {
  EXPECT_THAT(error_of("schedule { stream 0 \"\" { launch ^z } }"), HasSubstr("no operator z"));
  EXPECT_THAT(error_of("schedule { stream 1 \"\" { } }"), HasSubstr("numbered 0, 1, 2"));
  EXPECT_THAT(error_of("schedule { stream 0 \"\" { record x1 } }"),
              HasSubstr("expected e<number>"));
  EXPECT_THAT(error_of("schedule { stream 0 \"\" inner_parallel maybe { } }"),
              HasSubstr("true or false"));
  EXPECT_THAT(error_of("schedule { stream 0 \"\" { launch ^a threads -1 } }"),
              HasSubstr("negative"));
  EXPECT_THAT(error_of("schedule { stream 0 \"\" { launch ^a"), HasSubstr("expected"));
  EXPECT_THAT(error_of("schedule { } more"), HasSubstr("after the end"));
  EXPECT_THAT(error_of("schedule { stream 0 \"\" { wait e4294967296 } }"),
              HasSubstr("expected e<number>"));
  EXPECT_THAT(error_of("schedule { stream 0 \"\" { wait e99 } }"),
              HasSubstr("more events than operators"));
}

}  // namespace
}  // namespace anabranch
