// What the executor does by itself; tests/conformance covers what it does with each device.
#include "anabranch/runtime/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/conformance/harness.h"
#include "tests/conformance/thread_device.h"

namespace anabranch::testing {
namespace {

/// Counts what it is asked for.
class CountingDevice : public ThreadDevice {
 public:
  using ThreadDevice::ThreadDevice;
  bool try_run(std::span<const size_t> lanes, const LaneTask& task) override {
    lanes_used.assign(lanes.begin(), lanes.end());
    return ThreadDevice::try_run(lanes, task);
  }
  std::vector<size_t> lanes_used;
};

constexpr const char* kGraph =
    "%x = input : i64[1] @b0\n"
    "%a = ref.add(%x, %x) : i64[1] @b1\n"
    "%b = ref.add(%x, %x) : i64[1] @b2\n"
    "return %a, %b";

TEST(Executor, UsesOnlyLanesThatHaveCommands) {
  auto device = std::make_shared<CountingDevice>(4);
  Harness harness(device, kGraph,
                  "stream 0 \"\" { launch ^a }\nstream 1 \"1\" { }\nstream 2 \"2\" { launch ^b }");
  harness.run({{"x", {1}}});
  EXPECT_THAT(device->lanes_used, ::testing::ElementsAre(0u, 2u));
  EXPECT_THAT(harness.executor().lanes(), ::testing::ElementsAre(0u, 1u, 2u));
}

TEST(Executor, FoldedStreamsRunOnLaneZeroAndTakeNoOther) {
  auto device = std::make_shared<CountingDevice>(4);
  Harness harness(device, kGraph,
                  "stream 0 \"\" { }\nstream 1 \"1\" folded { launch ^b }\nstream 2 \"2\" { "
                  "launch ^a }");
  EXPECT_EQ(harness.run({{"x", {1}}}).values["b"], Elements{2});
  EXPECT_THAT(device->lanes_used, ::testing::ElementsAre(0u, 1u));
  EXPECT_THAT(harness.executor().lanes(), ::testing::ElementsAre(0u, 0u, 1u));
  ReferenceKernels kernels;
  auto loaded = kernels.load(harness.graph(), {});
  Executor apart(harness.graph(), harness.schedule(), *device, *loaded, false);
  EXPECT_THAT(apart.lanes(), ::testing::ElementsAre(0u, 1u, 2u));
}

TEST(Executor, LaneZeroAlwaysComesFirst) {
  auto device = std::make_shared<CountingDevice>(4);
  Harness harness(device, kGraph, "stream 0 \"\" { }\nstream 1 \"1\" { launch ^a; launch ^b }");
  EXPECT_EQ(harness.run({{"x", {1}}}).values["b"], Elements{2});
  EXPECT_THAT(device->lanes_used, ::testing::ElementsAre(0u, 1u));
}

TEST(Executor, ADeadlockIsAnErrorAtLoad) {
  try {
    Harness harness(std::make_shared<ThreadDevice>(1), kGraph,
                    "stream 0 \"\" { wait e0; launch ^a }\nstream 1 \"1\" { launch ^b }");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.diagnostics().front().rule, "deadlock");
  }
}

TEST(Executor, TwoFailuresAtOnceGiveTheFirstInProgramOrder) {
  Harness harness(
      std::make_shared<ThreadDevice>(4),
      "^one ref.throw(\"one\")\n^two ref.throw(\"two\")\n^three ref.throw(\"three\")\nreturn",
      "stream 0 \"\" { launch ^three }\nstream 1 \"1\" { launch ^two }\nstream 2 \"2\" { launch "
      "^one }");
  for (int i = 0; i < 50; ++i) EXPECT_EQ(harness.run().failed, "one");
}

TEST(Executor, ExclusiveLaunchesNeedNoGateOnOneLane) {
  Harness harness(std::make_shared<ThreadDevice>(1), kGraph,
                  "stream 0 \"\" { launch ^a exclusive; launch ^b }");
  EXPECT_EQ(harness.run({{"x", {2}}}).values["a"], Elements{4});
}

}  // namespace
}  // namespace anabranch::testing
