// The CPU as a device: the default stream on the calling thread, side streams on worker threads
// that all programs of the process share, events as words that threads spin and sleep on.
#pragma once

#include "anabranch/backends/cpu/worker_pool.h"
#include "anabranch/runtime/device.h"

namespace anabranch {

struct CpuOptions {
  size_t max_workers = 0;             // of the process (see WorkerPool); 0: max(8, 2 × cores)
  int cores = 0;                      // 0: those of the process's affinity mask
  bool pin = false;                   // pin every worker of the process to a core
  ThreadHook thread_start = nullptr;  // runs once on each worker thread of the process
};

/// Thread-safe. Devices share the workers, so one program more costs no threads.
class CpuDevice : public Device {
 public:
  explicit CpuDevice(const CpuOptions& options = {});

  std::string name() const override { return "cpu"; }
  std::vector<size_t> assign_lanes(std::span<const StreamProgram> streams) override;
  std::unique_ptr<CallEvents> make_events(const Schedule& schedule) override;
  /// Throws Error ("no-thread") when the system does not give a worker its thread.
  bool try_run(std::span<const size_t> lanes, const LaneTask& task) override {
    return pool_.try_run(lanes, task);
  }
  bool inside_call() const override { return WorkerPool::inside_call(); }
  int cores() const override { return cores_; }
  void* allocate(size_t bytes) override;
  void deallocate(void* memory) noexcept override;

 private:
  WorkerPool& pool_;
  size_t max_workers_;
  int cores_;
};

}  // namespace anabranch
