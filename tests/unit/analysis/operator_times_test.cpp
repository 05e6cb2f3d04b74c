#include "anabranch/analysis/operator_times.h"

#include <gtest/gtest.h>

namespace anabranch {
namespace {

OperatorTimes one(OperatorTime time, int cores) { return {cores, {time}}; }

TEST(OperatorTimes, OneAndAllAreAsMeasured) {
  OperatorTimes times = one({100, 30, 0}, 8);
  EXPECT_DOUBLE_EQ(times.with(NodeId(0), 1).ns, 100);
  EXPECT_DOUBLE_EQ(times.with(NodeId(0), 8).ns, 30);
}

TEST(OperatorTimes, BetweenFollowsAPower) {
  OperatorTimes times = one({160, 10, 0}, 16);
  EXPECT_NEAR(times.with(NodeId(0), 4).ns, 40, 1e-9);
}

TEST(OperatorTimes, PartsAreTakenWhereTheyAreFaster) {
  OperatorTimes times = one({100, 90, 50}, 2);
  EXPECT_DOUBLE_EQ(times.with(NodeId(0), 2).ns, 50);
  EXPECT_TRUE(times.with(NodeId(0), 2).split);
  EXPECT_FALSE(times.with(NodeId(0), 1).split);
  EXPECT_FALSE(one({100, 40, 50}, 2).with(NodeId(0), 2).split);
}

TEST(OperatorTimes, MoreThreadsCanBeSlower) {
  OperatorTimes times = one({100, 120, 0}, 4);
  EXPECT_DOUBLE_EQ(times.with(NodeId(0), 2).ns, 100);
  EXPECT_DOUBLE_EQ(times.with(NodeId(0), 4).ns, 120);
}

}  // namespace
}  // namespace anabranch
