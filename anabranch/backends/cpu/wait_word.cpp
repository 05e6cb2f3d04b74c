#include "anabranch/backends/cpu/wait_word.h"

#include "anabranch/backends/cpu/affinity.h"

namespace anabranch {
namespace {

// 60 to 120 µs: longer than a sleeping thread needs to wake, shorter than a scheduler's time slice.
constexpr int kPauses = 2000;

std::atomic<int> spinning{0};

}  // namespace

SpinPermit::SpinPermit() {
  static const int limit = available_cores() - 1;
  if (spinning.fetch_add(1, std::memory_order_relaxed) < limit) pauses_ = kPauses;
}

SpinPermit::~SpinPermit() { spinning.fetch_sub(1, std::memory_order_relaxed); }

}  // namespace anabranch
