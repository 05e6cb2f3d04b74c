// Lets an exclusive operator run alone in its call, so that it can have all cores.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace anabranch {

/// A shared/exclusive lock around the execution of kernels. Who enters shared never waits behind
/// one who still waits to enter exclusively, and exclusivity is given up when `patience` ends: it
/// decides how fast an operator runs, never its result, so it must not be able to hang a call.
class CoreGate {
 public:
  // Longer than nearly all operators, short enough that nobody takes it for a hang.
  static constexpr std::chrono::milliseconds kPatience{2000};
  explicit CoreGate(std::chrono::milliseconds patience = kPatience) : patience_(patience) {}

  /// Returns whether the entry is exclusive; pass that to leave().
  bool enter(bool exclusive);
  void leave(bool exclusive) noexcept;

 private:
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;
  bool exclusive_ = false;
};

}  // namespace anabranch
