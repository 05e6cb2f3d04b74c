// How threads of the CPU backend wait for each other: a bounded spin, then sleep.
#pragma once

#include <atomic>
#include <cstdint>

#include "anabranch/backends/cpu/futex.h"

namespace anabranch {

/// The thread works on a call, or on a part of an operator, until the end of the scope: whoever
/// waits should leave it a core. Scopes nest.
class Working {
 public:
  Working();
  ~Working();
  Working(const Working&) = delete;
  Working& operator=(const Working&) = delete;

 private:
  bool outer_;
};

/// In the child of a fork, where only the calling thread exists.
void forget_other_threads();

/// Spins for about 100 µs or until `done()`; returns what `done()` said last. At most cores - 1
/// threads of the process spin at once, and only while no thread that works needs their core: so
/// spinning never takes the core from the thread that is waited for. A thread that waits does not
/// count as working.
class SpinPermit {
 public:
  SpinPermit();
  ~SpinPermit();
  SpinPermit(const SpinPermit&) = delete;
  SpinPermit& operator=(const SpinPermit&) = delete;

  template <class Done>
  bool spin(Done done) const {
    for (int i = 0; i < pauses_ && has_core(); ++i) {
      if (done()) return true;
      cpu_relax();
    }
    return done();
  }

 private:
  bool has_core() const;

  int pauses_ = 0;
};

/// A value that threads can wait for. What a thread did before publish() is seen after await().
class WaitWord {
 public:
  uint32_t load() const { return word_.load(std::memory_order_acquire); }

  void publish(uint32_t value) {
    word_.store(value);
    if (sleepers_.load() > 0) futex_wake_all(word_);
  }

  /// Returns as soon as the word is `value`.
  void await(uint32_t value) {
    auto done = [&] { return load() == value; };
    if (!done()) await_slowly(done);
  }

  /// Returns as soon as the word is no longer `value`.
  void await_change(uint32_t value) {
    auto done = [&] { return load() != value; };
    if (!done()) await_slowly(done);
  }

 private:
  template <class Done>
  void await_slowly(Done done) {
    SpinPermit permit;
    if (permit.spin(done)) return;
    // The sleeper announces itself, then looks again; publish() stores, then looks for sleepers: in
    // the single order of these four accesses one of the two sees the other.
    sleepers_.fetch_add(1);
    for (uint32_t seen = word_.load(); !done(); seen = word_.load()) futex_wait(word_, seen);
    sleepers_.fetch_sub(1);
  }

  std::atomic<uint32_t> word_{0};
  std::atomic<uint32_t> sleepers_{0};
};

/// Counts the workers of a call that have not ended. Lives on the caller's stack: the last worker's
/// decrement is its last access, after which the caller may return.
class Countdown {
 public:
  explicit Countdown(uint32_t count) : left_(count) {}

  void arrive() {
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == kAsleep + 1) futex_wake_all(left_);
  }

  void wait() {
    auto done = [&] { return left_.load(std::memory_order_acquire) == 0; };
    if (done()) return;
    SpinPermit permit;
    if (permit.spin(done)) return;
    left_.fetch_or(kAsleep);
    for (uint32_t seen = left_.load(std::memory_order_acquire); seen != kAsleep;
         seen = left_.load(std::memory_order_acquire)) {
      futex_wait(left_, seen);
    }
  }

 private:
  static constexpr uint32_t kAsleep = uint32_t{1} << 31;
  std::atomic<uint32_t> left_;
};

}  // namespace anabranch
