#include "anabranch/backends/cpu/worker_pool.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  device.run(lanes, [&](size_t i) { ids[i] = std::this_thread::get_id(); });
  device.run(lanes, [&](size_t i) { again[i] = std::this_thread::get_id(); });
  EXPECT_EQ(ids[0], std::this_thread::get_id());
  EXPECT_EQ(std::set<std::thread::id>(ids.begin(), ids.end()).size(), 3u);
  EXPECT_EQ(ids, again);
}

TEST(CpuDevice, ThreadsStartWhenTheyAreNeeded) {
  CpuDevice device({.max_workers = 64});
  std::vector<size_t> lanes = device.assign_lanes(streams_of({"", "lazy1", "lazy2"}));
  size_t before = WorkerPool::instance().started();
  device.run(std::vector<size_t>{0}, [](size_t) {});
  EXPECT_EQ(WorkerPool::instance().started(), before);
  device.run(lanes, [](size_t) {});
  EXPECT_LE(WorkerPool::instance().started(), before + 2);
}

TEST(CpuDevice, ManyLanesInsideACallAreAnError) {
  CpuDevice device;
  std::vector<size_t> lanes = device.assign_lanes(streams_of({"", "nested"}));
  std::atomic<int> errors{0};
  device.run(lanes, [&](size_t) {
    try {
      device.run(lanes, [](size_t) {});
    } catch (const Error& error) {
      if (error.diagnostics().front().rule == "nested-call") ++errors;
    }
    device.run(std::vector<size_t>{0}, [](size_t) {});  // one lane is fine
  });
  EXPECT_EQ(errors, 2);
}

TEST(CpuDevice, CallsKeepOneOrderOnAllWorkers) {
  // lanes of a call wait for each other; crossed orders would block two calls for ever
  CpuDevice device;
  std::vector<size_t> forward = device.assign_lanes(streams_of({"", "order1", "order2", "order3"}));
  std::vector<size_t> backward{forward[0], forward[3], forward[2], forward[1]};
  std::vector<std::thread> callers;
  for (int t = 0; t < 6; ++t) {
    callers.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        std::atomic<int> arrived{0};
        device.run(t % 2 == 0 ? forward : backward, [&](size_t) {
          ++arrived;
          while (arrived < 4) std::this_thread::yield();
        });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(CpuDevice, AReversedStartRunsEveryLaneOnce) {
  CpuDevice device;
  std::vector<size_t> lanes = device.assign_lanes(streams_of({"", "r1", "r2", "r3"}));
  WorkerPool::instance().reverse_start(true);
  std::vector<int> runs(4, 0);
  for (int i = 0; i < 100; ++i) device.run(lanes, [&](size_t lane) { ++runs[lane]; });
  WorkerPool::instance().reverse_start(false);
  EXPECT_THAT(runs, ::testing::Each(100));
}

std::atomic<int> hook_runs{0};
thread_local int hook_runs_here = 0;

TEST(CpuDevice, AThreadHookRunsOnceOnEachWorkerAlsoOnOneThatRunsAlready) {
  std::vector<size_t> lanes = CpuDevice().assign_lanes(streams_of({"", "hooked1", "hooked2"}));
  CpuDevice().run(lanes, [](size_t) {});
  auto hook = [] {
    ++hook_runs;
    ++hook_runs_here;
  };
  CpuDevice device({.thread_start = hook});
  CpuDevice twice({.thread_start = hook});
  for (int i = 0; i < 3; ++i) {
    device.run(lanes, [](size_t lane) { EXPECT_EQ(hook_runs_here, lane == 0 ? 0 : 1); });
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
  for (int i = 0; i < 10; ++i) device.run(lanes, [&](size_t) { ++runs; });
  EXPECT_EQ(runs, 30);
  EXPECT_EQ(CpuDevice().cores(), available_cores());
}

}  // namespace
}  // namespace anabranch
