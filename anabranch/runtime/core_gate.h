// Hands out the cores of one call: the stream of the highest priority first, then in order of
// arrival. An operator that needs all cores runs alone.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace anabranch {

/// Thread-safe. A lane claims cores for each operator and keeps them from one operator to the next:
/// the next operator of a stream is ready when the last one ends, so it competes at once with those
/// that wait. A lane must not wait for another one while it holds cores: it gives them back before.
///
/// Cores decide how fast an operator runs, never its result, so they must not be able to hang a
/// call: when for `patience` nobody who holds cores has given any back, the first in the queue goes
/// on without.
///
/// The cores are those of one call. Calls of other threads have the same cores once more, as in
/// eager mode: who waits for cores of another call could be what that call is waiting for.
class CoreGate {
 public:
  // Longer than nearly all operators, short enough that nobody takes it for a hang.
  static constexpr std::chrono::milliseconds kPatience{2000};
  explicit CoreGate(int cores, std::chrono::milliseconds patience = kPatience)
      : cores_(cores), free_(cores), patience_(patience) {}

  /// What one lane holds. Used by one thread.
  struct Grant {
    int cores = 0;
  };

  /// Makes `grant` hold exactly `cores` (at most all); waits while they are taken, or while
  /// somebody waits whose priority is not worse. A smaller number is a higher priority.
  void claim(Grant& grant, int cores, int64_t priority);
  void give_back(Grant& grant) noexcept;

  /// How many claims wait.
  int waiting() const { return waiting_.load(std::memory_order_relaxed); }

 private:
  struct Waiter;

  bool take(int cores);
  void claim_in_turn(Grant& grant, int cores, int64_t priority);
  void enqueue(Waiter& waiter);
  void pop_first();
  void serve();

  const int cores_;
  std::atomic<int> free_;        // negative when somebody lost patience
  std::atomic<int> waiting_{0};  // length of the queue
  const std::chrono::milliseconds patience_;

  std::mutex mutex_;  // guards what follows
  Waiter* first_ = nullptr;
  uint64_t changes_ = 0;  // counts cores given back, and who went on without
};

}  // namespace anabranch
