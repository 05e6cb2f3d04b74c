// The worker threads that walk side streams: one set for the process, shared by all programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "anabranch/backends/cpu/wait_word.h"
#include "anabranch/runtime/device.h"

namespace anabranch {

/// Runs on a worker thread before its first task.
using ThreadHook = void (*)();

/// Thread-safe. A worker belongs to one call at a time, and a call takes all its workers or none;
/// so nobody waits for a worker, and calls cannot wait for each other in a circle, whatever
/// operators do (one may start a thread, which makes a call, and wait for it).
///
/// Threads start when a call first needs them and then stay. They are detached and the
/// pool is never destroyed: at process exit a parked worker must neither keep the process alive nor
/// run after the destructors of things it uses. (So the code must not be unloaded either.)
///
/// After fork() the child has no workers; it starts its own when it makes a call. A call that was
/// running in another thread at that moment does not exist in the child.
class WorkerPool {
 public:
  static WorkerPool& instance();

  /// The worker of a stream label: always the same one for the same label. A new label gets a
  /// worker of its own while there are fewer than `max_workers`, the caller's bound; later ones
  /// share, evenly. So the process never has more workers than the largest bound given so far, and
  /// who gives a smaller one adds none beyond it.
  size_t worker_of(std::string_view label, size_t max_workers);

  /// Adds a hook, once however often it is given; workers that already run execute it before their
  /// next task.
  void add_thread_hook(ThreadHook hook);
  /// Pins each worker to a core of its own before its next task. Cannot be undone.
  void pin_workers();
  /// Lets a call's workers be woken in reverse order (adversarial tests).
  void reverse_start(bool reversed) { reversed_.store(reversed, std::memory_order_relaxed); }

  /// Threads started so far in this process.
  size_t started() const;

  /// Device::try_run: `task(0)` on the calling thread, `task(k)` on worker `lanes[k] - 1`. Starts
  /// missing threads first: throws Error ("no-thread"), with nothing of the call begun, when the
  /// system has no more.
  bool try_run(std::span<const size_t> lanes, const LaneTask& task);

  /// True on a worker that runs a task and on a thread that is inside try_run().
  static bool inside_call() { return depth_ > 0; }

 private:
  struct Worker;
  struct InsideCall;

  WorkerPool();
  bool take(std::span<const size_t> lanes, std::vector<Worker*>& taken);
  void ensure_started(size_t index);
  void serve(Worker& worker);
  void prepare_thread(Worker& worker);
  void after_fork_in_child();

  static thread_local int depth_;

  // Guards everything below but the atomics. A call takes all its workers under it.
  mutable std::mutex mutex_;
  std::map<std::string, size_t, std::less<>> worker_of_label_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::unique_ptr<Worker>> abandoned_;  // in a forked child: the parent's
  std::vector<ThreadHook> hooks_;
  bool pinned_ = false;
  size_t started_ = 0;
  std::atomic<uint32_t> settings_{0};  // counts changes of hooks_ and pinned_
  std::atomic<bool> reversed_{false};
};

}  // namespace anabranch
