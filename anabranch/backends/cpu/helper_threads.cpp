#include "anabranch/backends/cpu/helper_threads.h"

#include <pthread.h>

#include <algorithm>
#include <memory>
#include <system_error>
#include <thread>

#include "anabranch/backends/cpu/affinity.h"
#include "anabranch/backends/cpu/wait_word.h"

namespace anabranch {

/// Part `index` of every operator is this helper's. What it is to do is written before `posted`
/// changes.
struct HelperThreads::Helper {
  int index = 0;
  const PartTask* task = nullptr;
  Countdown* left = nullptr;
  WaitWord posted;  // counts the parts
};

HelperThreads& HelperThreads::instance() {
  static HelperThreads* helpers = new HelperThreads;  // never destroyed: see the header
  return *helpers;
}

HelperThreads::HelperThreads() {
  pthread_atfork(nullptr, nullptr, [] {
    // The parent's threads do not exist here. Their state is left alone: it may be half changed.
    new (&instance().helpers_) std::vector<Helper*>;
    instance().busy_.store(false);
  });
}

void HelperThreads::run(int parts, const PartTask& task) {
  int helped = 0;
  bool mine = parts > 1 && !busy_.exchange(true, std::memory_order_acquire);
  if (mine) helped = start(parts - 1);
  Countdown left(static_cast<uint32_t>(helped));
  for (int k = 0; k < helped; ++k) {
    Helper& helper = *helpers_[static_cast<size_t>(k)];
    helper.task = &task;
    helper.left = &left;
    helper.posted.publish(helper.posted.load() + 1);
  }
  task(0);
  for (int part = helped + 1; part < parts; ++part) task(part);
  left.wait();
  if (mine) busy_.store(false, std::memory_order_release);
}

/// How many of the helpers wanted there are.
int HelperThreads::start(int wanted) {
  auto count = static_cast<size_t>(wanted);
  try {
    while (helpers_.size() < count) {
      auto helper = std::make_unique<Helper>();
      helper->index = static_cast<int>(helpers_.size()) + 1;
      helpers_.reserve(helpers_.size() + 1);
      std::thread thread([this, &made = *helper] { serve(made); });
#ifdef __linux__
      pthread_setname_np(thread.native_handle(), "anabranch-part");
#endif
      thread.detach();
      helpers_.push_back(helper.release());
    }
  } catch (const std::system_error&) {  // the system gives no more threads: fewer are used
  }
  return static_cast<int>(std::min(count, helpers_.size()));
}

void HelperThreads::serve(Helper& helper) {
  bool pinned = false;
  for (uint32_t parts = 0;; ++parts) {
    helper.posted.await_change(parts);
    if (!pinned && pinned_.load(std::memory_order_relaxed))
      pinned = pin_to_core(static_cast<size_t>(helper.index));
    Countdown& left = *helper.left;
    {
      Working working;
      (*helper.task)(helper.index);
    }
    left.arrive();  // the caller may be gone from here on
  }
}

}  // namespace anabranch
