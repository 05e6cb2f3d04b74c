#include "anabranch/runtime/observer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "anabranch/runtime/adversary.h"
#include "anabranch/runtime/recorder.h"
#include "anabranch/schedule/text.h"
#include "tests/conformance/harness.h"
#include "tests/conformance/thread_device.h"

namespace anabranch::testing {
namespace {

/// Writes down what it sees, with its own name.
class Notes : public Observer {
 public:
  Notes(std::string name, std::vector<std::string>& lines)
      : name_(std::move(name)), lines_(lines) {}
  void before_launch(StreamId, const Launch& launch) override {
    note("before launch", launch.node.index());
  }
  void after_launch(StreamId, const Launch& launch) override {
    note("after launch", launch.node.index());
  }
  void before_record(StreamId, EventId event) override { note("before record", event.index()); }
  void after_record(StreamId, EventId event) override { note("after record", event.index()); }
  void before_wait(StreamId, EventId event) override { note("before wait", event.index()); }
  void after_wait(StreamId, EventId event) override { note("after wait", event.index()); }

 private:
  void note(const std::string& what, size_t which) {
    lines_.push_back(name_ + ": " + what + " " + std::to_string(which));
  }
  std::string name_;
  std::vector<std::string>& lines_;
};

constexpr const char* kGraph =
    "%x = input : i64[1] @b0\n"
    "%a = ref.add(%x, %x) : i64[1] @b1\n"
    "^bad ref.throw(\"no\")\n"
    "%b = ref.add(%x, %x) : i64[1] @b2\n"
    "return %a";

TEST(ObserverList, NestsItsMembers) {
  Harness harness(std::make_shared<ThreadDevice>(1), kGraph,
                  "stream 0 \"\" { launch ^a; record e0; wait e0 }");
  std::vector<std::string> lines;
  Notes one("1", lines), two("2", lines);
  ObserverList both({&one, &two});
  harness.run({{"x", {1}}}, &both);
  EXPECT_THAT(
      lines, ::testing::ElementsAre("1: before launch 1", "2: before launch 1", "2: after launch 1",
                                    "1: after launch 1", "1: before record 0", "2: before record 0",
                                    "2: after record 0", "1: after record 0", "1: before wait 0",
                                    "2: before wait 0", "2: after wait 0", "1: after wait 0"));
}

TEST(ObserverList, SeesAFailedLaunchEndAndNoLaterOne) {
  Harness harness(std::make_shared<ThreadDevice>(1), kGraph,
                  "stream 0 \"\" { launch ^a; launch ^bad; launch ^b; record e0 }");
  std::vector<std::string> lines;
  Notes notes("1", lines);
  harness.run({{"x", {1}}}, &notes);
  EXPECT_THAT(lines, ::testing::ElementsAre("1: before launch 1", "1: after launch 1",
                                            "1: before launch 2", "1: after launch 2",
                                            "1: before record 0", "1: after record 0"));
}

TEST(Adversary, DelaysDependOnlyOnSeedStreamAndCommand) {
  Adversary one(7), same(7), other(8);
  bool differs = false;
  for (uint64_t what = 0; what < 100; ++what) {
    EXPECT_EQ(one.delay_us(StreamId(1), what), same.delay_us(StreamId(1), what));
    differs |= one.delay_us(StreamId(1), what) != other.delay_us(StreamId(1), what);
  }
  EXPECT_TRUE(differs);
}

TEST(Adversary, DelaysStayInTheirRangeAndAreSometimesNone) {
  Adversary adversary(1, 2000);
  int none = 0, most = 0;
  for (uint64_t what = 0; what < 1000; ++what) {
    auto delay = static_cast<int>(adversary.delay_us(StreamId(0), what));
    none += delay == 0;
    most = std::max(most, delay);
    EXPECT_GE(delay, 0);
    EXPECT_LE(delay, 2000);
  }
  EXPECT_GT(none, 200);
  EXPECT_GT(most, 1000);
}

TEST(Recorder, RecordsEachCommandOfItsStream) {
  Harness harness(std::make_shared<ThreadDevice>(1), kGraph,
                  "stream 0 \"\" { launch ^a; record e0 }\nstream 1 \"1\" { wait e0; launch ^b }");
  Recorder recorder;
  for (int call = 0; call < 3; ++call) {
    harness.run({{"x", {1}}}, &recorder);
    const auto& streams = recorder.streams();
    ASSERT_EQ(streams.size(), 2u);
    ASSERT_EQ(streams[0].launches.size(), 1u);
    ASSERT_EQ(streams[0].records.size(), 1u);
    ASSERT_EQ(streams[1].waits.size(), 1u);
    ASSERT_EQ(streams[1].launches.size(), 1u);
    EXPECT_EQ(streams[1].launches[0].launch.node, NodeId(3));
    EXPECT_LE(streams[0].launches[0].begin, streams[0].launches[0].end);
    EXPECT_LE(streams[0].launches[0].end, streams[0].records[0].at);
    EXPECT_LE(streams[0].records[0].at, streams[1].waits[0].end);
    EXPECT_LE(streams[1].waits[0].end, streams[1].launches[0].begin);
  }
}

}  // namespace
}  // namespace anabranch::testing
