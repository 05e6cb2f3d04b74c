// The order of commands: streams, events, shared lanes.
#include <fmt/format.h>

#include "tests/conformance/suite.h"

namespace anabranch::testing {
namespace {

class Schedules : public Conformance {};
INSTANTIATE_CONFORMANCE(Schedules);

TEST_P(Schedules, OneStreamRunsInListOrder) {
  // x => (x + x) * x
  Harness harness(device_,
                  "%x = input : i64[3] @b0\n"
                  "%s = ref.add(%x, %x) : i64[3] @b1\n"
                  "%p = ref.mul(%s, %x) : i64[3] @b2\n"
                  "return %p",
                  "stream 0 \"\" { launch ^s; launch ^p }");
  EXPECT_EQ(harness.run({{"x", {1, 2, 3}}}).values["p"], (Elements{2, 8, 18}));
}

TEST_P(Schedules, AWaitHoldsItsStreamUntilTheRecord) {
  // the slow producer on stream 1, its reader on stream 0 => the reader sees the finished value
  Harness harness(device_,
                  "%x = input : i64[1] @b0\n"
                  "%slow = ref.sleep(3000, %x) : i64[1] @b1\n"
                  "%y = ref.add(%slow, %x) : i64[1] @b2\n"
                  "return %y",
                  "stream 0 \"\" { wait e0; launch ^y }\n"
                  "stream 1 \"1\" { launch ^slow; record e0 }");
  for (int64_t i = 0; i < 20; ++i)
    EXPECT_EQ(harness.run({{"x", {i}}}).values["y"], Elements{2 * i});
}

TEST_P(Schedules, AnEventMayHaveSeveralWaiters) {
  Harness harness(device_,
                  "%x = input : i64[1] @b0\n"
                  "%a = ref.sleep(500, %x) : i64[1] @b1\n"
                  "%b = ref.add(%a, %x) : i64[1] @b2\n"
                  "%c = ref.mul(%a, %x) : i64[1] @b3\n"
                  "return %b, %c",
                  "stream 0 \"\" { launch ^a; record e0 }\n"
                  "stream 1 \"1\" { wait e0; launch ^b }\n"
                  "stream 2 \"2\" { wait e0; launch ^c }");
  Outcome outcome = harness.run({{"x", {5}}});
  EXPECT_EQ(outcome.values["b"], Elements{10});
  EXPECT_EQ(outcome.values["c"], Elements{25});
}

TEST_P(Schedules, ARecordWithoutWaiterAndAnEmptyStreamAreFine) {
  Harness harness(device_,
                  "%x = input : i64[1] @b0\n"
                  "%a = ref.add(%x, %x) : i64[1] @b1\n"
                  "return %a",
                  "stream 0 \"\" { launch ^a; record e0 }\n"
                  "stream 1 \"1\" { }");
  EXPECT_EQ(harness.run({{"x", {4}}}).values["a"], Elements{8});
}

TEST_P(Schedules, AllStreamsHaveEndedWhenTheCallReturns) {
  // nothing waits for the printer on stream 1 => its line is there all the same
  Harness harness(device_,
                  "%x = input : i64[1] @b0\n"
                  "%late = ref.sleep(5000, %x) : i64[1] @b1\n"
                  "^print ref.print(%late) effects(io \"log\")\n"
                  "return",
                  "stream 0 \"\" { }\n"
                  "stream 1 \"1\" { launch ^late; launch ^print }");
  EXPECT_THAT(harness.run({{"x", {7}}}).log, ::testing::ElementsAre("print: 7"));
}

TEST_P(Schedules, WaitOperatorsRunNoKernel) {
  // y = wait(x, a); b = y + y, with y's Identity on stream 1
  Harness harness(device_,
                  "%x = input : i64[1] @b0\n"
                  "%a = ref.add(%x, %x) : i64[1] @b1\n"
                  "%y = wait 0 (%x) after(^a) : i64[1] @b0\n"
                  "%b = ref.add(%y, %y) : i64[1] @b2\n"
                  "return %a, %b",
                  "stream 0 \"\" { launch ^a; record e0 }\n"
                  "stream 1 \"1\" { wait e0; launch ^y; launch ^b }");
  EXPECT_EQ(harness.run({{"x", {3}}}).values["b"], Elements{6});
}

/// A ring: stream k adds 1 to the buffer and hands over to stream k+1, `rounds` times.
Harness make_ring(std::shared_ptr<Device> device, size_t streams, size_t rounds) {
  std::string graph = "%x = input : i64[1] @b0\n%one = input : i64[1] @b1\n";
  std::vector<std::string> lists(streams);
  for (size_t i = 0; i < streams * rounds; ++i) {
    graph += fmt::format("^a{} ref.add_(%x, %one) writes(%x)\n", i);
    std::string& list = lists[i % streams];
    if (i > 0) list += fmt::format("wait e{}; ", i - 1);
    list += fmt::format("launch ^a{}; record e{}; ", i, i);
  }
  std::string schedule;
  for (size_t s = 0; s < streams; ++s) {
    schedule += fmt::format("stream {} \"{}\" {{ {} }}\n", s,
                            s == 0 ? "" : fmt::format("ring{}", s), lists[s]);
  }
  return Harness(std::move(device), graph + "return %x", schedule);
}

TEST_P(Schedules, AChainOfWaitsAcrossAllStreams) {
  Harness harness = make_ring(device_, 5, 40);
  EXPECT_EQ(harness.run({{"x", {0}}, {"one", {1}}}).values["x"], Elements{200});
}

TEST_P(Schedules, ThreeHundredStreamsShareFewWorkers) {
  Harness harness = make_ring(device_, 300, 3);
  Harness::Session session(harness);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(session.run({{"x", {i}}, {"one", {1}}}).values["x"], Elements{900 + i});
}

TEST_P(Schedules, SharedLanesFollowTheEventsEvenAgainstProgramOrder) {
  // later operators first: stream 1 launches b, then a; stream 0 needs a => no lane order may block
  Harness harness(device_,
                  "%x = input : i64[1] @b0\n"
                  "%a = ref.add(%x, %x) : i64[1] @b1\n"
                  "%b = ref.mul(%x, %x) : i64[1] @b2\n"
                  "%c = ref.add(%a, %b) : i64[1] @b3\n"
                  "return %c",
                  "stream 0 \"\" { wait e1; launch ^c }\n"
                  "stream 1 \"1\" { launch ^b; launch ^a; record e0 }\n"
                  "stream 2 \"2\" { wait e0; record e1 }");
  EXPECT_EQ(harness.run({{"x", {3}}}).values["c"], Elements{15});
}

TEST_P(Schedules, TheAdversaryChangesNoResult) {
  Harness harness = make_ring(device_, 4, 4);
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Adversary adversary(seed, 300);
    EXPECT_EQ(harness.run({{"x", {0}}, {"one", {1}}}, &adversary).values["x"], Elements{16});
  }
}

}  // namespace
}  // namespace anabranch::testing
