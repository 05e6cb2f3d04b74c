// The simplest device that keeps the contract: a new thread for each lane of each call, events
// under one mutex. The suite runs on it too, so that no test only fits the CPU backend.
#pragma once

#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "anabranch/runtime/device.h"

namespace anabranch::testing {

class ThreadEvents : public CallEvents {
 public:
  explicit ThreadEvents(size_t count) : recorded_(count) {}
  void record(StreamId, EventId event) override {
    std::lock_guard lock(mutex_);
    recorded_[event.index()] = true;
    changed_.notify_all();
  }
  void wait(StreamId, EventId event) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return recorded_[event.index()]; });
  }
  bool recorded(EventId event) override {
    std::lock_guard lock(mutex_);
    return recorded_[event.index()];
  }
  void reset() override { recorded_.assign(recorded_.size(), false); }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> recorded_;
};

class ThreadDevice : public Device {
 public:
  /// Streams beyond `lanes` share.
  explicit ThreadDevice(size_t lanes, int cores = 2) : lanes_(lanes), cores_(cores) {}

  std::string name() const override { return "threads"; }
  std::vector<size_t> assign_lanes(std::span<const StreamProgram> streams) override {
    std::vector<size_t> lanes;
    for (size_t s = 0; s < streams.size(); ++s) lanes.push_back(s == 0 ? 0 : 1 + (s - 1) % lanes_);
    return lanes;
  }
  std::unique_ptr<CallEvents> make_events(const Schedule& schedule) override {
    return std::make_unique<ThreadEvents>(schedule.event_count);
  }
  bool try_run(std::span<const size_t> lanes, const LaneTask& task) override {
    if (lanes.size() > 1 && inside_) return false;
    auto inside = [&](size_t position) {
      bool outer = inside_;
      inside_ = true;
      task(position);
      inside_ = outer;
    };
    std::vector<std::thread> threads;
    for (size_t k = 1; k < lanes.size(); ++k) threads.emplace_back(inside, k);
    inside(0);
    for (std::thread& thread : threads) thread.join();
    return true;
  }
  bool inside_call() const override { return inside_; }
  int cores() const override { return cores_; }
  void* allocate(size_t bytes) override { return ::operator new (bytes + 1, std::align_val_t{64}); }
  void deallocate(void* memory) noexcept override {
    ::operator delete (memory, std::align_val_t{64});
  }

 private:
  size_t lanes_;
  int cores_;
  static inline thread_local bool inside_ = false;
};

}  // namespace anabranch::testing
