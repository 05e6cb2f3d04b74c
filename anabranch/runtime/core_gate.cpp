#include "anabranch/runtime/core_gate.h"

#include <algorithm>

namespace anabranch {

/// Lives on the stack of the thread that waits.
struct CoreGate::Waiter {
  int cores;
  int64_t priority;
  Waiter* next = nullptr;
  bool granted = false;
  std::condition_variable woken;
};

void CoreGate::claim(Grant& grant, int cores, int64_t priority) {
  cores = std::min(cores, cores_);
  // Nobody waits: keep, or change without a lock. Who gives cores back and who begins to wait both
  // write first (free_, waiting_) and look at the other's word after that: one of them sees both.
  if (waiting_.load() == 0) {
    if (grant.cores > cores) {
      free_.fetch_add(grant.cores - cores);
      grant.cores = cores;
      if (waiting_.load() == 0) return;
    } else if (take(cores - grant.cores)) {
      grant.cores = cores;
      return;
    }
  }
  claim_in_turn(grant, cores, priority);
}

void CoreGate::give_back(Grant& grant) noexcept {
  if (grant.cores == 0) return;
  free_.fetch_add(grant.cores);
  grant.cores = 0;
  if (waiting_.load() == 0) return;
  std::lock_guard lock(mutex_);
  ++changes_;
  serve();
}

bool CoreGate::take(int cores) {
  if (cores == 0) return true;
  int free = free_.load();
  while (free >= cores) {
    if (free_.compare_exchange_weak(free, free - cores)) return true;
  }
  return false;
}

void CoreGate::claim_in_turn(Grant& grant, int cores, int64_t priority) {
  Waiter self{cores, priority};
  std::unique_lock lock(mutex_);
  enqueue(self);
  free_.fetch_add(grant.cores);
  if (grant.cores > 0) ++changes_;
  serve();
  uint64_t seen = changes_;
  while (!self.granted) {
    auto news = [&] { return self.granted || changes_ != seen; };
    if (!self.woken.wait_for(lock, patience_, news) && first_ == &self) {
      free_.fetch_sub(cores);
      pop_first();
      ++changes_;
    }
    seen = changes_;
  }
  grant.cores = cores;
}

void CoreGate::enqueue(Waiter& waiter) {
  Waiter** place = &first_;
  while (*place && (*place)->priority <= waiter.priority) place = &(*place)->next;
  waiter.next = *place;
  *place = &waiter;
  waiting_.fetch_add(1);
}

void CoreGate::pop_first() {
  Waiter* waiter = first_;
  first_ = waiter->next;
  waiting_.fetch_sub(1);
  waiter->granted = true;
  waiter->woken.notify_one();  // under the lock: afterwards the waiter may be gone
}

void CoreGate::serve() {
  while (first_ && take(first_->cores)) pop_first();
}

}  // namespace anabranch
