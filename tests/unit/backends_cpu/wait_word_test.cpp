#include "anabranch/backends/cpu/wait_word.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace anabranch {
namespace {

TEST(WaitWord, AValueThatIsThereNeedsNoWait) {
  WaitWord word;
  word.publish(3);
  word.await(3);
  word.await_change(2);
  EXPECT_EQ(word.load(), 3u);
}

TEST(WaitWord, WhatCameBeforeThePublishIsSeenAfterTheAwait) {
  WaitWord word;
  int value = 0;
  std::thread reader([&] {
    word.await(1);
    EXPECT_EQ(value, 42);
  });
  value = 42;
  word.publish(1);
  reader.join();
}

TEST(WaitWord, SleepersWake) {
  // the pause is longer than any spin, so the readers really sleep
  WaitWord word;
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) readers.emplace_back([&] { word.await(1); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  word.publish(1);
  for (std::thread& reader : readers) reader.join();
}

TEST(WaitWord, PingPong) {
  WaitWord ping, pong;
  constexpr uint32_t kRounds = 5000;
  std::thread other([&] {
    for (uint32_t i = 1; i <= kRounds; ++i) {
      ping.await(i);
      pong.publish(i);
    }
  });
  for (uint32_t i = 1; i <= kRounds; ++i) {
    ping.publish(i);
    pong.await(i);
  }
  other.join();
}

TEST(Countdown, ReleasesItsOwnerWhoMayForgetItAtOnce) {
  for (int round = 0; round < 300; ++round) {
    auto left = std::make_unique<Countdown>(3);
    Countdown* shared = left.get();
    std::vector<std::thread> workers;
    for (int i = 0; i < 3; ++i) workers.emplace_back([shared] { shared->arrive(); });
    left->wait();
    left.reset();
    for (std::thread& worker : workers) worker.join();
  }
}

TEST(Countdown, OfNobodyIsOver) {
  Countdown left(0);
  left.wait();
}

TEST(SpinPermit, EndsWhenDoneOrAfterItsPauses) {
  SpinPermit permit;
  EXPECT_TRUE(permit.spin([] { return true; }));
  EXPECT_FALSE(permit.spin([] { return false; }));
}

}  // namespace
}  // namespace anabranch
