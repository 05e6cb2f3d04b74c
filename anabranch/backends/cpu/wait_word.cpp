#include "anabranch/backends/cpu/wait_word.h"

#include "anabranch/backends/cpu/affinity.h"

namespace anabranch {
namespace {

// 60 to 120 µs: longer than a sleeping thread needs to wake, shorter than a scheduler's time slice.
constexpr int kPauses = 2000;

std::atomic<int> spinning{0}, working{0};
thread_local bool counted = false;  // this thread is one of those that work

int cores() {
  static const int count = available_cores();
  return count;
}

}  // namespace

Working::Working() : outer_(counted) {
  if (!outer_) working.fetch_add(1, std::memory_order_relaxed);
  counted = true;
}

Working::~Working() {
  if (!outer_) working.fetch_sub(1, std::memory_order_relaxed);
  counted = outer_;
}

void forget_other_threads() {
  spinning.store(0);
  working.store(counted ? 1 : 0);
}

SpinPermit::SpinPermit() {
  if (counted) working.fetch_sub(1, std::memory_order_relaxed);
  if (spinning.fetch_add(1, std::memory_order_relaxed) < cores() - 1) pauses_ = kPauses;
}

SpinPermit::~SpinPermit() {
  spinning.fetch_sub(1, std::memory_order_relaxed);
  if (counted) working.fetch_add(1, std::memory_order_relaxed);
}

bool SpinPermit::has_core() const {
  return working.load(std::memory_order_relaxed) + spinning.load(std::memory_order_relaxed) <=
         cores();
}

}  // namespace anabranch
