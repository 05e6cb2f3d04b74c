// Processes: a fork, and an exit while workers exist.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "anabranch/backends/cpu/cpu_device.h"
#include "tests/conformance/harness.h"

#ifdef __SANITIZE_THREAD__
// Its default is to end a child that starts threads, which is what is tested here.
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }
#endif

namespace anabranch::testing {
namespace {

constexpr const char* kGraph =
    "%x = input : i64[1] @b0\n"
    "%a = ref.add(%x, %x) : i64[1] @b1\n"
    "%b = ref.mul(%a, %x) : i64[1] @b2\n"
    "return %b";
constexpr const char* kSchedule =
    "stream 0 \"\" { wait e0; launch ^b }\n"
    "stream 1 \"forked\" { launch ^a; record e0 }";

TEST(Fork, AChildStartsItsOwnWorkers) {
  Harness harness(std::make_shared<CpuDevice>(), kGraph, kSchedule);
  EXPECT_EQ(harness.run({{"x", {3}}}).values["b"], Elements{18});
  pid_t child = fork();
  if (child == 0) {
    alarm(20);  // ends a child that hangs
    bool right = harness.run({{"x", {5}}}).values["b"] == Elements{50};
    _exit(right && WorkerPool::instance().started() == 1 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(harness.run({{"x", {4}}}).values["b"], Elements{32});
}

#ifndef __SANITIZE_THREAD__  // it cannot follow a child that starts threads beside such a parent
TEST(Fork, AChildOfAProcessWhoseOtherThreadsAreCalling) {
  Harness harness(std::make_shared<CpuDevice>(), kGraph, kSchedule);
  std::atomic<bool> stop{false};
  std::vector<std::thread> callers;
  for (int64_t t = 0; t < 3; ++t) {
    callers.emplace_back([&, t] {
      while (!stop) EXPECT_EQ(harness.run({{"x", {t}}}).values["b"], Elements{2 * t * t});
    });
  }
  for (int i = 0; i < 5; ++i) {
    pid_t child = fork();
    if (child == 0) {
      alarm(60);
      _exit(harness.run({{"x", {5}}}).values["b"] == Elements{50} ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  stop = true;
  for (std::thread& caller : callers) caller.join();
}
#endif

TEST(Exit, WorkersDoNotHoldTheProcess) {
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    Harness harness(std::make_shared<CpuDevice>(), kGraph, kSchedule);
    harness.run({{"x", {3}}});
    std::exit(7);  // with destructors of static objects, while the worker sleeps
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
}  // namespace anabranch::testing
