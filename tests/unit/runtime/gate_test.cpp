#include "anabranch/runtime/core_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace anabranch {
namespace {

TEST(CoreGate, SharedEntriesRunTogether) {
  CoreGate gate;
  EXPECT_FALSE(gate.enter(false));
  EXPECT_FALSE(gate.enter(false));
  gate.leave(false);
  gate.leave(false);
}

TEST(CoreGate, AnExclusiveEntryIsAlone) {
  CoreGate gate;
  int inside = 0;  // not atomic: only exclusive entries change it
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        bool exclusive = gate.enter(true);
        EXPECT_TRUE(exclusive);
        EXPECT_EQ(++inside, 1);
        --inside;
        gate.leave(exclusive);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(CoreGate, AnOperatorThatWaitsForAnotherCannotHangIt) {
  // the thread that is inside waits for the one that wants to be alone
  CoreGate gate(std::chrono::milliseconds(5));
  bool outer = gate.enter(false);
  std::thread other([&] {
    bool exclusive = gate.enter(true);
    EXPECT_FALSE(exclusive);
    gate.leave(exclusive);
  });
  other.join();
  gate.leave(outer);
  bool alone = gate.enter(true);
  EXPECT_TRUE(alone);
  gate.leave(alone);
}

TEST(CoreGate, ASharedEntryDoesNotQueueBehindAWaitingExclusiveOne) {
  CoreGate gate;
  bool first = gate.enter(false);
  std::thread waiting([&] { gate.leave(gate.enter(true)); });
  bool second = gate.enter(false);
  EXPECT_FALSE(second);
  gate.leave(second);
  gate.leave(first);
  waiting.join();
}

}  // namespace
}  // namespace anabranch
