#include "anabranch/runtime/core_gate.h"

#include <chrono>

namespace anabranch {

// Longer than nearly all operators, short enough that nobody takes it for a hang.
constexpr std::chrono::seconds kPatience{2};

bool CoreGate::enter(bool exclusive) {
  std::unique_lock lock(mutex_);
  if (exclusive) {
    auto alone = [this] { return inside_ == 0; };
    exclusive = changed_.wait_for(lock, kPatience, alone);
  } else {
    changed_.wait(lock, [this] { return !exclusive_; });
  }
  ++inside_;
  exclusive_ |= exclusive;
  return exclusive;
}

void CoreGate::leave(bool exclusive) noexcept {
  {
    std::lock_guard lock(mutex_);
    --inside_;
    if (exclusive) exclusive_ = false;
  }
  changed_.notify_all();
}

}  // namespace anabranch
