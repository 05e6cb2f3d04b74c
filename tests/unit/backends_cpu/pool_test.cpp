#include "anabranch/backends/cpu/worker_pool.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <pthread.h>

#include <algorithm>
#include <set>
#include <thread>

#include "anabranch/backends/cpu/affinity.h"
#include "anabranch/backends/cpu/cpu_device.h"

namespace anabranch {
namespace {

std::vector<StreamProgram> streams_of(const std::vector<std::string>& labels) {
  std::vector<StreamProgram> streams(labels.size());
  for (size_t i = 0; i < labels.size(); ++i) streams[i].stream.label = labels[i];
  return streams;
}

TEST(CpuDevice, TheSameLabelIsTheSameLaneInAllDevices) {
  CpuDevice one, two;
  std::vector<size_t> first = one.assign_lanes(streams_of({"", "left", "right"}));
  std::vector<size_t> second = two.assign_lanes(streams_of({"", "right", "other", "left"}));
  EXPECT_EQ(first[0], 0u);
  EXPECT_EQ(second[0], 0u);
  EXPECT_EQ(first[1], second[3]);
  EXPECT_EQ(first[2], second[1]);
  EXPECT_NE(first[1], first[2]);
}

TEST(CpuDevice, WorkersAreBoundedAndLabelsBeyondTheBoundShareThemEvenly) {
  CpuDevice device({.max_workers = 16});
  std::vector<std::string> labels{""};
  for (int i = 0; i < 200; ++i) labels.push_back(fmt::format("bounded{}", i));
  std::vector<size_t> lanes = device.assign_lanes(streams_of(labels));
  std::set<size_t> distinct(lanes.begin() + 1, lanes.end());
  EXPECT_LE(distinct.size(), 16u);
  EXPECT_LE(*distinct.rbegin(), 16u);
  for (size_t lane : distinct) {
    EXPECT_LE(std::count(lanes.begin(), lanes.end(), lane), 200 / 16 + 2);
  }
}

TEST(CpuDevice, RunsEachLaneOnItsOwnThreadAndTheFirstOnTheCaller) {
  CpuDevice device;
  std::vector<size_t> lanes = device.assign_lanes(streams_of({"", "own1", "own2"}));
  std::vector<std::thread::id> ids(3), again(3);
  device.try_run(lanes, [&](size_t i) { ids[i] = std::this_thread::get_id(); });
  device.try_run(lanes, [&](size_t i) { again[i] = std::this_thread::get_id(); });
  EXPECT_EQ(ids[0], std::this_thread::get_id());
  EXPECT_EQ(std::set<std::thread::id>(ids.begin(), ids.end()).size(), 3u);
  EXPECT_EQ(ids, again);
}

TEST(CpuDevice, ThreadsStartWhenTheyAreNeeded) {
  CpuDevice device({.max_workers = 64});
  std::vector<size_t> lanes = device.assign_lanes(streams_of({"", "lazy1", "lazy2"}));
  size_t before = WorkerPool::instance().started();
  device.try_run(std::vector<size_t>{0}, [](size_t) {});
  EXPECT_EQ(WorkerPool::instance().started(), before);
  device.try_run(lanes, [](size_t) {});
  EXPECT_LE(WorkerPool::instance().started(), before + 2);
}

TEST(CpuDevice, ManyLanesInsideACallDoNotRun) {
  CpuDevice device;
  std::vector<size_t> lanes = device.assign_lanes(streams_of({"", "nested"}));
  std::atomic<int> refused{0}, ran{0};
  EXPECT_TRUE(device.try_run(lanes, [&](size_t) {
    if (!device.try_run(lanes, [&](size_t) { ++ran; })) ++refused;
    EXPECT_TRUE(device.try_run(std::vector<size_t>{0}, [](size_t) {}));  // one lane is fine
  }));
  EXPECT_EQ(refused, 2);
  EXPECT_EQ(ran, 0);
}

TEST(CpuDevice, ACallHasAllItsWorkersOrNone) {
  // the lanes of a call wait for each other: a call with some of its workers would block for ever
  CpuDevice device;
  std::vector<size_t> forward = device.assign_lanes(streams_of({"", "order1", "order2", "order3"}));
  std::vector<size_t> backward{forward[0], forward[3], forward[2], forward[1]};
  std::vector<std::thread> callers;
  for (int t = 0; t < 6; ++t) {
    callers.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        std::atomic<int> arrived{0};
        auto meet = [&](size_t) {
          ++arrived;
          while (arrived < 4) std::this_thread::yield();
        };
        while (!device.try_run(t % 2 == 0 ? forward : backward, meet)) std::this_thread::yield();
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(CpuDevice, NobodyWaitsForABusyWorker) {
  CpuDevice device;
  std::vector<size_t> lanes = device.assign_lanes(streams_of({"", "busy1", "busy2", "idle"}));
  std::vector<size_t> one{0, lanes[1]}, both{0, lanes[2], lanes[1]}, other{0, lanes[3]};
  EXPECT_TRUE(device.try_run(one, [&](size_t lane) {
    if (lane == 0) return;
    // the worker itself waits for the thread that would need it
    std::thread thread([&] {
      EXPECT_FALSE(device.try_run(one, [](size_t) { FAIL() << "began"; }));
      EXPECT_FALSE(device.try_run(both, [](size_t) { FAIL() << "began"; }));
      EXPECT_TRUE(device.try_run(other, [](size_t) {}));
    });
    thread.join();
  }));
  EXPECT_TRUE(device.try_run(both, [](size_t) {})) << "a refused call leaves no worker taken";
}

TEST(CpuDevice, OneCallerAlwaysHasItsWorkers) {
  CpuDevice device;
  std::vector<size_t> lanes = device.assign_lanes(streams_of({"", "again1", "again2"}));
  std::vector<int> runs(3, 0);
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(device.try_run(lanes, [&](size_t k) { ++runs[k]; }));
  EXPECT_THAT(runs, ::testing::Each(2000));
}

TEST(CpuDevice, EachDevicesBoundIsHonoured) {
  // labels of their own first, then shared workers; a larger bound adds workers, a smaller one none
  auto lanes_of = [](size_t bound, const std::string& prefix) {
    std::vector<std::string> labels{""};
    for (int i = 0; i < 100; ++i) labels.push_back(fmt::format("{}{}", prefix, i));
    std::vector<size_t> lanes = CpuDevice({.max_workers = bound}).assign_lanes(streams_of(labels));
    return *std::max_element(lanes.begin(), lanes.end());
  };
  size_t before = lanes_of(70, "bound70_");
  EXPECT_GE(before, 70u);
  EXPECT_EQ(lanes_of(90, "bound90_"), std::max<size_t>(90, before));
  EXPECT_LE(lanes_of(1, "bound1_"), std::max<size_t>(90, before));
}

#ifdef __GLIBC__
TEST(CpuDevice, AThreadThatCannotStartIsAnErrorAndTheNextCallWorks) {
  CpuDevice device({.max_workers = 200});
  std::vector<size_t> lanes;
  do {  // two labels with fresh workers
    static int number = 0;
    lanes = device.assign_lanes(
        streams_of({"", fmt::format("late{}", number), fmt::format("later{}", number)}));
    ++number;
  } while (lanes[1] == lanes[2]);
  pthread_attr_t normal, huge;
  pthread_getattr_default_np(&normal);
  pthread_getattr_default_np(&huge);
  pthread_attr_setstacksize(&huge, size_t{1} << 47);  // more than there is address space
  pthread_setattr_default_np(&huge);
  try {
    device.try_run(lanes, [](size_t) { FAIL() << "began"; });
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.diagnostics().front().rule, "no-thread");
  }
  pthread_setattr_default_np(&normal);
  std::atomic<int> runs{0};
  EXPECT_TRUE(device.try_run(lanes, [&](size_t) { ++runs; }));
  EXPECT_EQ(runs, 3);
}
#endif

TEST(CpuDevice, AReversedStartRunsEveryLaneOnce) {
  CpuDevice device;
  std::vector<size_t> lanes = device.assign_lanes(streams_of({"", "r1", "r2", "r3"}));
  WorkerPool::instance().reverse_start(true);
  std::vector<int> runs(4, 0);
  for (int i = 0; i < 100; ++i) device.try_run(lanes, [&](size_t lane) { ++runs[lane]; });
  WorkerPool::instance().reverse_start(false);
  EXPECT_THAT(runs, ::testing::Each(100));
}

std::atomic<int> hook_runs{0};
thread_local int hook_runs_here = 0;

TEST(CpuDevice, AThreadHookRunsOnceOnEachWorkerAlsoOnOneThatRunsAlready) {
  std::vector<size_t> lanes = CpuDevice().assign_lanes(streams_of({"", "hooked1", "hooked2"}));
  CpuDevice().try_run(lanes, [](size_t) {});
  auto hook = [] {
    ++hook_runs;
    ++hook_runs_here;
  };
  CpuDevice device({.thread_start = hook});
  CpuDevice twice({.thread_start = hook});
  for (int i = 0; i < 3; ++i) {
    device.try_run(lanes, [](size_t lane) { EXPECT_EQ(hook_runs_here, lane == 0 ? 0 : 1); });
  }
  EXPECT_EQ(hook_runs, 2);
}

TEST(CpuDevice, MemoryIsAligned) {
  CpuDevice device;
  for (size_t bytes : {0, 1, 100, 4096}) {
    void* memory = device.allocate(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
    device.deallocate(memory);
  }
}

TEST(CpuDevice, CoresAreThoseOfTheProcessOrTheOption) {
  EXPECT_EQ(CpuDevice().cores(), available_cores());
  EXPECT_EQ(CpuDevice({.cores = 3}).cores(), 3);
}

TEST(CpuDevice, PinnedWorkersStillRun) {
  // pinning narrows the workers' masks, never the caller's
  CpuDevice device({.pin = true});
  std::vector<size_t> lanes = device.assign_lanes(streams_of({"", "pinned1", "pinned2"}));
  std::atomic<int> runs{0};
  for (int i = 0; i < 10; ++i) device.try_run(lanes, [&](size_t) { ++runs; });
  EXPECT_EQ(runs, 30);
  EXPECT_EQ(CpuDevice().cores(), available_cores());
}

}  // namespace
}  // namespace anabranch
