// Lets an exclusive operator run alone in its call, so that it can have all cores.
#pragma once

#include <condition_variable>
#include <mutex>

namespace anabranch {

/// A shared/exclusive lock around the execution of kernels. Who enters shared never waits behind
/// one who still waits to enter exclusively, and exclusivity is given up after two seconds: it
/// decides how fast an operator runs, never its result, so it must not be able to hang a call.
class CoreGate {
 public:
  /// Returns whether the entry is exclusive; pass that to leave().
  bool enter(bool exclusive);
  void leave(bool exclusive) noexcept;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;
  bool exclusive_ = false;
};

}  // namespace anabranch
