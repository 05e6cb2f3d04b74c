#include "anabranch/backends/cpu/helper_threads.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <thread>

namespace anabranch {
namespace {

TEST(HelperThreads, EveryPartIsDoneOnce) {
  for (int parts : {1, 2, 3, 7}) {
    for (int round = 0; round < 200; ++round) {
      std::vector<std::atomic<int>> done(static_cast<size_t>(parts));
      HelperThreads::instance().run(parts, [&](int part) { ++done[static_cast<size_t>(part)]; });
      for (const std::atomic<int>& count : done) EXPECT_EQ(count, 1);
    }
  }
}

TEST(HelperThreads, PartsHaveThreadsOfTheirOwn) {
  std::vector<std::thread::id> ran(3);
  HelperThreads::instance().run(
      3, [&](int part) { ran[static_cast<size_t>(part)] = std::this_thread::get_id(); });
  EXPECT_EQ(ran[0], std::this_thread::get_id());
  EXPECT_EQ(std::set(ran.begin(), ran.end()).size(), 3u);
}

TEST(HelperThreads, WhoComesWhileTheyAreBusyDoesItAlone) {
  std::vector<std::thread> callers;
  std::atomic<int> done{0};
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int round = 0; round < 300; ++round)
        HelperThreads::instance().run(2, [&](int) { done.fetch_add(1); });
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(done, 4 * 300 * 2);
  // a part that has parts
  HelperThreads::instance().run(
      2, [&](int) { HelperThreads::instance().run(2, [&](int) { done.fetch_add(1); }); });
  EXPECT_EQ(done, 4 * 300 * 2 + 4);
}

TEST(HelperThreads, TheChildOfAForkStartsItsOwn) {
  HelperThreads::instance().run(2, [](int) {});
  pid_t child = fork();
  if (child == 0) {
    std::atomic<int> done{0};
    HelperThreads::instance().run(3, [&](int part) { done.fetch_add(part + 1); });
    _exit(done == 6 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace anabranch
