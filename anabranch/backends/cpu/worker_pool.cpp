#include "anabranch/backends/cpu/worker_pool.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <thread>

#include "anabranch/backends/cpu/affinity.h"
#include "anabranch/base/diagnostic.h"

namespace anabranch {

struct WorkerPool::Worker {
  size_t index = 0;
  bool started = false;
  // Set under the pool's lock by the call that takes the worker, cleared by the worker.
  std::atomic<bool> busy{false};
  // The lane that it runs: written by the thread whose call has taken it, before posted changes.
  const LaneTask* task = nullptr;
  size_t position = 0;
  Countdown* left = nullptr;
  WaitWord posted;        // counts the lanes
  uint32_t settings = 0;  // applied by this thread
  size_t hooks_run = 0;
};

thread_local int WorkerPool::depth_ = 0;

/// Marks the calling thread as inside a call.
struct WorkerPool::InsideCall {
  InsideCall() { ++depth_; }
  ~InsideCall() { --depth_; }
};

WorkerPool& WorkerPool::instance() {
  static WorkerPool* pool = new WorkerPool;  // never destroyed: see the header
  return *pool;
}

WorkerPool::WorkerPool() {
  available_cores();  // before any thread is pinned
  pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                 [] { instance().after_fork_in_child(); });
}

size_t WorkerPool::worker_of(std::string_view label, size_t max_workers) {
  std::lock_guard lock(mutex_);
  if (auto found = worker_of_label_.find(label); found != worker_of_label_.end())
    return found->second;
  size_t index = workers_.size();
  if (index < std::max<size_t>(1, max_workers)) {
    workers_.push_back(std::make_unique<Worker>());
    workers_.back()->index = index;
  } else {
    index = worker_of_label_.size() % workers_.size();
  }
  worker_of_label_.emplace(label, index);
  return index;
}

void WorkerPool::add_thread_hook(ThreadHook hook) {
  std::lock_guard lock(mutex_);
  if (std::find(hooks_.begin(), hooks_.end(), hook) != hooks_.end()) return;
  hooks_.push_back(hook);
  settings_.fetch_add(1);
}

void WorkerPool::pin_workers() {
  std::lock_guard lock(mutex_);
  pinned_ = true;
  settings_.fetch_add(1);
}

size_t WorkerPool::started() const {
  std::lock_guard lock(mutex_);
  return started_;
}

bool WorkerPool::try_run(std::span<const size_t> lanes, const LaneTask& task) {
  // Kept per thread so that a call does not allocate. Only the outermost call of a thread gets
  // here.
  static thread_local std::vector<Worker*> taken;
  size_t workers = lanes.size() - 1;
  if (workers > 0 && (inside_call() || !take(lanes.subspan(1), taken))) return false;
  InsideCall inside;
  Working working;
  Countdown left(static_cast<uint32_t>(workers));
  bool reversed = reversed_.load(std::memory_order_relaxed);
  for (size_t k = 0; k < workers; ++k) {
    size_t position = reversed ? workers - k : k + 1;
    Worker& worker = *taken[position - 1];
    worker.task = &task;
    worker.position = position;
    worker.left = &left;
    worker.posted.publish(worker.posted.load() + 1);
  }
  task(0);
  left.wait();
  return true;
}

bool WorkerPool::take(std::span<const size_t> lanes, std::vector<Worker*>& taken) {
  taken.resize(lanes.size());
  std::lock_guard lock(mutex_);
  for (size_t k = 0; k < lanes.size(); ++k) {
    taken[k] = workers_[lanes[k] - 1].get();
    if (taken[k]->busy.load(std::memory_order_acquire)) return false;
  }
  for (size_t lane : lanes) ensure_started(lane - 1);  // may throw: nothing is taken yet
  for (Worker* worker : taken) worker->busy.store(true, std::memory_order_relaxed);
  return true;
}

void WorkerPool::ensure_started(size_t index) {
  Worker& worker = *workers_[index];
  if (worker.started) return;
  try {
    std::thread thread([this, &worker] { serve(worker); });
#ifdef __linux__
    pthread_setname_np(thread.native_handle(),
                       ("anabranch-" + std::to_string(index % 10000)).c_str());
#endif
    thread.detach();
  } catch (const std::system_error& error) {
    throw Error("no-thread",
                fmt::format("the system gives no thread for a stream: {}", error.what()),
                "allow the process more threads or memory, or set anabranch.max_workers lower");
  }
  worker.started = true;
  ++started_;
}

void WorkerPool::serve(Worker& worker) {
  InsideCall inside;
  for (uint32_t lanes = 0;; ++lanes) {
    worker.posted.await_change(lanes);
    if (worker.settings != settings_.load(std::memory_order_acquire)) prepare_thread(worker);
    Countdown& left = *worker.left;
    {
      Working working;
      (*worker.task)(worker.position);
    }
    worker.busy.store(false, std::memory_order_release);  // before the caller can call again
    left.arrive();                                        // the call may be gone from here on
  }
}

void WorkerPool::prepare_thread(Worker& worker) {
  std::vector<ThreadHook> fresh;
  bool pin;
  {
    std::lock_guard lock(mutex_);
    worker.settings = settings_.load();
    pin = pinned_;
    fresh.assign(hooks_.begin() + static_cast<ptrdiff_t>(worker.hooks_run), hooks_.end());
    worker.hooks_run = hooks_.size();
  }
  if (pin) pin_to_core(worker.index + 1);  // core 0 is left to the calling thread
  for (ThreadHook hook : fresh) hook();
}

void WorkerPool::after_fork_in_child() {
  // The parent's threads do not exist here. Labels keep their workers: programs hold the numbers.
  for (std::unique_ptr<Worker>& worker : workers_) {
    size_t index = worker->index;
    // Kept, not destroyed: a thread of the parent may have been in the middle of a change.
    abandoned_.push_back(std::move(worker));
    worker = std::make_unique<Worker>();
    worker->index = index;
  }
  started_ = 0;
  forget_other_threads();
  mutex_.unlock();
}

}  // namespace anabranch
