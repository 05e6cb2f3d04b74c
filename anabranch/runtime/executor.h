// Runs a schedule: walks each stream's list, launches kernels, records and waits, frees buffers at
// their last use, and carries the first error to the caller while the other streams drain.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "anabranch/runtime/device.h"
#include "anabranch/runtime/kernel.h"
#include "anabranch/runtime/observer.h"

namespace anabranch {

/// An operator's failure: the original exception and where it happened.
struct LaunchFailure {
  std::exception_ptr error;
  NodeId node;
  StreamId stream;
};

/// What one running call owns beside its values; made at load, reused by later calls.
class CallState;

/// A schedule bound to a device and to kernels. Immutable after construction; run() may be called
/// by many threads at once, each with its own CallState and CallValues.
class Executor {
 public:
  /// `graph` and `schedule` must outlive the executor. Assigns lanes: may allocate.
  Executor(const Graph& graph, const Schedule& schedule, Device& device, const LoadedKernels& kernels);
  ~Executor();

  std::unique_ptr<CallState> make_state() const;

  /// Runs every launch of the schedule and returns when all streams have ended. On the first
  /// failure no further operator starts, streams drain, and the failure is returned. The state is
  /// ready for the next call either way. `observer` may be null.
  std::optional<LaunchFailure> run(CallState& state, CallValues& values, Observer* observer) const;

  /// Lane of each stream, by StreamId (for reports).
  const std::vector<size_t>& lanes() const { return lane_of_stream_; }

 private:
  struct Step;  // one command with everything that walking it needs
  void walk(size_t lane, CallState& state, CallValues& values, Observer* observer) const;

  const Graph& graph_;
  const Schedule& schedule_;
  Device& device_;
  const LoadedKernels& kernels_;
  std::vector<size_t> lane_of_stream_;
  std::vector<size_t> lanes_;              // distinct, lane 0 first
  std::vector<std::vector<Step>> steps_;   // by position in lanes_
  friend class CallState;
};

}  // namespace anabranch
