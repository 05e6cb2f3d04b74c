#include "anabranch/schedule/lane_order.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "anabranch/schedule/text.h"
#include "tests/conformance/harness.h"

namespace anabranch::testing {
namespace {

const char* const kGraph =
    "^a ref.throw(\"\")\n^b ref.throw(\"\")\n^c ref.throw(\"\")\n^d ref.throw(\"\")\nreturn";

/// "a !0 ?0 b": launch a, record e0, wait e0, launch b.
std::string order_of(const std::string& streams) {
  Graph graph = graph_of(kGraph);
  Schedule schedule = parse_schedule(graph, "schedule {" + streams + "}");
  std::string text;
  for (const OrderedCommand& place : lane_order(graph, schedule)) {
    const Command& command = schedule.streams[place.stream.index()].commands[place.index];
    if (!text.empty()) text += ' ';
    if (const auto* launch = std::get_if<Launch>(&command)) text += graph.node(launch->node).name;
    if (const auto* record = std::get_if<Record>(&command))
      text += fmt::format("!{}", record->event.index());
    if (const auto* wait = std::get_if<Wait>(&command))
      text += fmt::format("?{}", wait->event.index());
  }
  return text;
}

TEST(LaneOrder, FollowsProgramOrderAcrossStreams) {
  EXPECT_EQ(
      order_of("stream 0 \"\" { launch ^b; launch ^c } stream 1 \"1\" { launch ^a; launch ^d }"),
      "a b c d");
}

TEST(LaneOrder, RecordsEarlyAndWaitsLate) {
  // e0 right behind a, the wait right before c
  EXPECT_EQ(order_of("stream 0 \"\" { launch ^a; record e0; launch ^b } stream 1 \"1\" { wait e0; "
                     "launch ^c }"),
            "a !0 b ?0 c");
}

TEST(LaneOrder, AWaitBeforeItsRecordInProgramOrderIsMovedBehindIt) {
  // b needs c, against program order
  EXPECT_EQ(order_of("stream 0 \"\" { launch ^a; wait e0; launch ^b } stream 1 \"1\" { launch ^c; "
                     "record e0 }"),
            "a c !0 ?0 b");
}

TEST(LaneOrder, ATrailingWaitComesLast) {
  EXPECT_EQ(
      order_of("stream 0 \"\" { launch ^a; wait e0 } stream 1 \"1\" { record e0; launch ^b }"),
      "!0 a b ?0");
}

TEST(LaneOrder, ACircleOfWaitsIsAnError) {
  try {
    order_of(
        "stream 0 \"\" { wait e0; launch ^a; record e1 } stream 1 \"1\" { wait e1; launch ^b; "
        "record e0 }");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.diagnostics().front().rule, "deadlock");
    EXPECT_THAT(error.what(), ::testing::HasSubstr("the default stream waits for e0"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("stream \"1\" waits for e1"));
  }
}

}  // namespace
}  // namespace anabranch::testing
