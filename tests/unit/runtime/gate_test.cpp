#include "anabranch/runtime/core_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace anabranch {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using ::testing::ElementsAre;

void await_waiting(const CoreGate& gate, int count) {
  while (gate.waiting() != count) std::this_thread::yield();
}

/// Threads that queue up one after another and write down in which order they got their cores.
class Queue {
 public:
  explicit Queue(CoreGate& gate) : gate_(gate) {}

  void add(const std::string& name, int cores, int64_t priority) {
    int before = gate_.waiting();
    threads_.emplace_back([=, this] {
      CoreGate::Grant grant;
      gate_.claim(grant, cores, priority);
      {
        std::lock_guard lock(mutex_);
        order_.push_back(name);
      }
      gate_.give_back(grant);
    });
    await_waiting(gate_, before + 1);
  }

  std::vector<std::string> join() {
    for (std::thread& thread : threads_) thread.join();
    return order_;
  }

 private:
  CoreGate& gate_;
  std::mutex mutex_;
  std::vector<std::string> order_;
  std::vector<std::thread> threads_;
};

TEST(CoreGate, ClaimsThatFitRunTogether) {
  CoreGate gate(3);
  CoreGate::Grant one, two;
  gate.claim(one, 1, 0);
  gate.claim(two, 2, 5);
  EXPECT_EQ(one.cores, 1);
  EXPECT_EQ(two.cores, 2);
  gate.give_back(one);
  gate.claim(one, 1, 9);
  gate.give_back(one);
  gate.give_back(two);
  gate.give_back(two);  // holds nothing: nothing happens
  gate.claim(two, 7, 0);
  EXPECT_EQ(two.cores, 3) << "more than all is all";
}

TEST(CoreGate, ThePriorityDecidesAndThenTheOrderOfArrival) {
  CoreGate gate(1, hours(1));
  CoreGate::Grant mine;
  gate.claim(mine, 1, 0);
  Queue queue(gate);
  queue.add("low", 1, 7);
  queue.add("first", 1, 2);
  queue.add("high", 1, -3);
  queue.add("second", 1, 2);
  gate.give_back(mine);
  EXPECT_THAT(queue.join(), ElementsAre("high", "first", "second", "low"));
  EXPECT_EQ(gate.waiting(), 0);
}

TEST(CoreGate, TheNextOperatorOfAHigherStreamComesBeforeThoseThatWait) {
  CoreGate gate(1, hours(1));
  CoreGate::Grant mine;
  gate.claim(mine, 1, 0);
  Queue queue(gate);
  queue.add("lower", 1, 1);
  for (int i = 0; i < 3; ++i) gate.claim(mine, 1, 0);
  EXPECT_EQ(gate.waiting(), 1);
  gate.give_back(mine);
  EXPECT_THAT(queue.join(), ElementsAre("lower"));
}

TEST(CoreGate, TheNextOperatorOfAnEqualStreamComesAfterThoseThatWait) {
  CoreGate gate(1, hours(1));
  CoreGate::Grant mine;
  gate.claim(mine, 1, 4);
  std::atomic<bool> was_served = false;
  std::thread other([&] {
    CoreGate::Grant grant;
    gate.claim(grant, 1, 4);
    was_served = true;
    gate.give_back(grant);
  });
  await_waiting(gate, 1);
  gate.claim(mine, 1, 4);
  EXPECT_TRUE(was_served);
  other.join();
}

TEST(CoreGate, ALaneThatNeedsFewerCoresGivesTheOthersBack) {
  CoreGate gate(2, hours(1));
  CoreGate::Grant mine;
  gate.claim(mine, 2, 0);
  Queue queue(gate);
  queue.add("other", 1, 0);
  gate.claim(mine, 1, 0);
  EXPECT_THAT(queue.join(), ElementsAre("other"));
  EXPECT_EQ(mine.cores, 1);
  gate.claim(mine, 2, 0);
  EXPECT_EQ(mine.cores, 2);
}

TEST(CoreGate, ASmallClaimPassesALargeOneOnlyByPriority) {
  // without the first rule a busy stream would keep an operator that must be alone waiting for ever
  CoreGate gate(2, hours(1));
  CoreGate::Grant mine;
  gate.claim(mine, 1, 0);
  Queue queue(gate);
  queue.add("all", 2, 0);
  queue.add("small", 1, 0);  // a core is free
  EXPECT_EQ(gate.waiting(), 2);
  CoreGate::Grant higher;
  gate.claim(higher, 1, -1);
  gate.give_back(higher);
  gate.give_back(mine);
  EXPECT_THAT(queue.join(), ElementsAre("all", "small"));
}

TEST(CoreGate, NeverMoreThanAllCoresAndAlonenessAreGiven) {
  CoreGate gate(4, hours(1));
  std::atomic<int> held{0}, most{0};
  int alone = 0;  // not atomic: only claims of all cores change it
  std::vector<std::thread> threads;
  for (int t = 0; t < 5; ++t) {
    threads.emplace_back([&, t] {
      CoreGate::Grant grant;
      for (int i = 0; i < 400; ++i) {
        int cores = 1 + (i * 7 + t) % 4;
        gate.claim(grant, cores, t % 3);
        int now = held += cores;
        if (now > 4) most = now;
        if (cores == 4) ++alone;
        held -= cores;
        if ((i + t) % 3 == 0) gate.give_back(grant);
      }
      gate.give_back(grant);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 0);
  EXPECT_EQ(alone, 5 * 100);
  CoreGate::Grant all;
  gate.claim(all, 4, 0);
}

TEST(CoreGate, AnOperatorThatWaitsForAnotherCannotHangIt) {
  // the thread that holds a core waits for those that want all of them
  CoreGate gate(2, milliseconds(5));
  CoreGate::Grant mine;
  gate.claim(mine, 1, 0);
  std::vector<std::thread> others;
  for (int i = 0; i < 3; ++i) {
    others.emplace_back([&] {
      CoreGate::Grant grant;
      gate.claim(grant, 2, 0);
      gate.give_back(grant);
    });
  }
  for (std::thread& other : others) other.join();
  gate.give_back(mine);
  gate.claim(mine, 2, 0);  // what they took without leave is back
  EXPECT_EQ(mine.cores, 2);
}

}  // namespace
}  // namespace anabranch
