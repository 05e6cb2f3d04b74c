#include "anabranch/backends/cpu/worker_pool.h"

#include <pthread.h>

#include <algorithm>
#include <string>
#include <thread>

#include "anabranch/backends/cpu/affinity.h"

namespace anabranch {

/// One lane of one call. Lives in the caller's thread until the lane has ended.
struct WorkerPool::Job {
  Job* next = nullptr;
  const LaneTask* task = nullptr;
  size_t position = 0;
  Countdown* left = nullptr;
};

struct WorkerPool::Worker {
  size_t index = 0;
  bool started = false;
  std::atomic<Job*> inbox{nullptr};  // newest first
  WaitWord posted;                   // changes with every job
  uint32_t settings = 0;             // applied by this thread
  size_t hooks_run = 0;

  /// Takes all jobs, oldest first; sleeps until there is one.
  Job* take() {
    for (;;) {
      uint32_t seen = posted.load();
      Job* newest = inbox.exchange(nullptr, std::memory_order_acquire);
      if (newest) return reverse(newest);
      posted.await_change(seen);
    }
  }

  /// Only under the pool's lock: one thread posts at a time.
  void post(Job& job) {
    job.next = inbox.load(std::memory_order_relaxed);
    while (!inbox.compare_exchange_weak(job.next, &job, std::memory_order_release,
                                        std::memory_order_relaxed)) {
    }
    posted.publish(posted.load() + 1);
  }

 private:
  static Job* reverse(Job* job) {
    Job* reversed = nullptr;
    while (job) {
      Job* next = job->next;
      job->next = reversed;
      reversed = job;
      job = next;
    }
    return reversed;
  }
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

void WorkerPool::run(std::span<const size_t> lanes, const LaneTask& task) {
  InsideCall inside;
  Countdown left(static_cast<uint32_t>(lanes.size() - 1));
  if (lanes.size() > 1) enqueue(lanes, task, left);
  task(0);
  left.wait();
}

void WorkerPool::enqueue(std::span<const size_t> lanes, const LaneTask& task, Countdown& left) {
  // Kept per thread so that a call does not allocate. A thread has one call at a time here: nested
  // calls do not queue.
  static thread_local std::vector<Job> jobs;
  jobs.resize(std::max(jobs.size(), lanes.size()));
  std::lock_guard lock(mutex_);
  for (size_t lane : lanes.subspan(1)) ensure_started(lane - 1);
  bool reversed = reversed_.load(std::memory_order_relaxed);
  for (size_t k = 1; k < lanes.size(); ++k) {
    size_t position = reversed ? lanes.size() - k : k;
    jobs[position] = Job{nullptr, &task, position, &left};
    workers_[lanes[position] - 1]->post(jobs[position]);
  }
}

void WorkerPool::ensure_started(size_t index) {
  Worker& worker = *workers_[index];
  if (worker.started) return;
  std::thread thread([this, &worker] { serve(worker); });
#ifdef __linux__
  pthread_setname_np(thread.native_handle(),
                     ("anabranch-" + std::to_string(index % 10000)).c_str());
#endif
  thread.detach();
  worker.started = true;
  ++started_;
}

void WorkerPool::serve(Worker& worker) {
  for (;;) {
    Job* job = worker.take();
    InsideCall inside;
    while (job) {
      Job* next = job->next;
      if (worker.settings != settings_.load(std::memory_order_acquire)) prepare_thread(worker);
      (*job->task)(job->position);
      job->left->arrive();  // the job and its call may be gone from here on
      job = next;
    }
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
  mutex_.unlock();
}

}  // namespace anabranch
