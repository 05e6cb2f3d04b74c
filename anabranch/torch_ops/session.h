// What all programs of the process share: the CPU device, the recording of calls, the adversary.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "anabranch/backends/cpu/cpu_device.h"
#include "anabranch/program/timeline.h"

namespace anabranch::torch_ops {

/// A program's device. All of them share the workers of the process; each program's max_workers
/// bounds what it adds to them (see WorkerPool), and `pin` of one pins them all. `cores` is how
/// many of them operators of one call use at a time; 0: all.
std::shared_ptr<CpuDevice> make_device(int cores, size_t max_workers, bool pin);

/// Records calls of all programs between begin() and end(). Thread-safe.
class TraceSession {
 public:
  static TraceSession& instance();

  void begin();
  void end();
  bool active() const { return active_.load(std::memory_order_relaxed); }
  void append(const Graph& graph, const Schedule& schedule, const Recorder& recorder, int call);
  /// Everything recorded since begin(). Throws Error ("no-trace") if nothing is being recorded.
  Timeline timeline() const;

 private:
  std::atomic<bool> active_{false};
  mutable std::mutex mutex_;
  int64_t origin_ = 0;
  Timeline timeline_;
};

/// Random delays in every call from now on (see runtime/adversary.h); a negative seed ends them.
void set_adversary(int64_t seed);
std::optional<uint64_t> adversary_seed();

}  // namespace anabranch::torch_ops
