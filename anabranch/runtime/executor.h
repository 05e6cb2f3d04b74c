// Runs a schedule: walks each stream's list, launches kernels, records and waits, frees buffers at
// their last use, and carries an error to the caller while the other streams drain.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "anabranch/runtime/core_gate.h"
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

/// How a call ended. Without `ran` nothing of it began: another call has one of its lanes.
struct CallResult {
  bool ran = true;
  std::optional<LaunchFailure> failure;
};

/// What one running call owns beside its values; made by Executor::make_state, reused by later
/// calls.
class CallState {
 public:
  explicit CallState(int cores) : gate_(cores) {}
  /// How many streams wait for cores right now.
  int waiting_for_cores() const { return gate_.waiting(); }

 private:
  friend class Executor;
  std::unique_ptr<CallEvents> events_;
  std::unique_ptr<std::atomic<uint32_t>[]> uses_left_;  // of buffers with several last uses
  std::atomic<uint32_t> failed_{NodeId::kNone};         // the earliest failed operator
  std::mutex failure_mutex_;
  std::optional<LaunchFailure> failure_;
  CoreGate gate_;
};

/// A schedule bound to a device and to kernels. Immutable after construction; try_run() may be
/// called by many threads at once, each with its own CallState and CallValues.
class Executor {
 public:
  /// All references must outlive the executor. Assigns lanes: lane 0 to folded streams, unless
  /// `honour_folds` is false. Throws Error ("deadlock").
  Executor(const Graph& graph, const Schedule& schedule, Device& device,
           const LoadedKernels& kernels, bool honour_folds = true);
  ~Executor();

  std::unique_ptr<CallState> make_state() const;

  /// Runs every launch of the schedule and returns when all streams have ended; or nothing at all,
  /// see Device::try_run. A schedule whose streams share the calling thread always runs.
  ///
  /// When an operator fails, operators after it in program order no longer start; those before it
  /// still do, as they would have run before the failure had there been one stream. So the failure
  /// returned is the first in program order, whatever the timing. Records and waits go on, so that
  /// every stream drains. The state is ready for the next call either way. `observer` may be null.
  CallResult try_run(CallState& state, CallValues& values, Observer* observer) const;

  /// Lane of each stream, by StreamId (for reports).
  const std::vector<size_t>& lanes() const { return lane_of_stream_; }

 private:
  struct Step;     // one command with everything that walking it needs
  struct Release;  // a buffer that ends with a launch
  struct Call;     // the arguments of try_run()

  std::vector<std::vector<Release>> find_releases();
  void plan_steps(const std::vector<std::vector<Release>>& releases_of_node);
  void plan_cores();
  Step make_step(const Command& command, StreamId stream) const;
  void walk(const std::vector<Step>& steps, const Call& call, Launcher& launcher) const;
  void launch(const Step& step, const Call& call, Launcher& launcher) const;
  void fail(const Step& step, CallState& state) const;
  void release(const Step& step, const Call& call) const;
  void refill(CallState& state) const;

  const Graph& graph_;
  const Schedule& schedule_;
  Device& device_;
  const LoadedKernels& kernels_;
  std::vector<size_t> lane_of_stream_;
  std::vector<size_t> lanes_;             // distinct, lane 0 first
  std::vector<std::vector<Step>> steps_;  // by position in lanes_
  std::vector<Release> releases_;         // in the order of the steps that they end with
  std::vector<uint32_t> use_counts_;      // by counter: the number of last uses
  int cores_ = 0;                         // of a call's core gate
};

}  // namespace anabranch
