// Threads that take parts of an operator which has several cores to itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "anabranch/runtime/part_runner.h"

namespace anabranch {

/// Thread-safe. The helpers serve one operator at a time; who comes while they are busy does all
/// parts alone, so nobody waits for them but whose parts they do. They start when they are first
/// needed, wait like workers (wait_word.h), and, like those, are detached and never destroyed.
///
/// After fork() the child has none and starts its own.
class HelperThreads : public PartRunner {
 public:
  static HelperThreads& instance();

  void run(int parts, const PartTask& task) override;
  /// Pins each helper to a core of its own before its next part. Cannot be undone.
  void pin() { pinned_.store(true, std::memory_order_relaxed); }

 private:
  struct Helper;

  HelperThreads();
  int start(int wanted);
  void serve(Helper& helper);

  std::atomic<bool> busy_{false};  // who sets it owns helpers_
  std::vector<Helper*> helpers_;
  std::atomic<bool> pinned_{false};
};

}  // namespace anabranch
