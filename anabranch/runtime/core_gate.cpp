#include "anabranch/runtime/core_gate.h"

namespace anabranch {

bool CoreGate::enter(bool exclusive) {
  std::unique_lock lock(mutex_);
  if (exclusive) {
    auto alone = [this] { return inside_ == 0; };
    exclusive = changed_.wait_for(lock, patience_, alone);
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
