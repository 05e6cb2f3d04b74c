// The way into and out of calls, which closes when the interpreter ends.
#pragma once

#include <atomic>
#include <cstdint>

namespace anabranch::torch_ops {

/// A thread that is inside a call when the interpreter ends must not come back: it would ask for a
/// GIL that is gone, and it would use libraries that are being destroyed. So at exit the door
/// closes: calls that run end, and threads that want to begin one sleep until the process is gone.
/// Thread-safe. The child of a fork begins with an open door.
class Door {
 public:
  static Door& instance();

  /// Around every call. Inside a call that runs already, always open.
  class Passage {
   public:
    explicit Passage(bool nested);
    ~Passage();
    Passage(const Passage&) = delete;
    Passage& operator=(const Passage&) = delete;
  };

  /// Closes the door to all threads but this one. True when no call runs and, of the `known` calls
  /// that somebody counts outside, all sleep here.
  bool close(int64_t known);

 private:
  Door();
  bool closed_to_this_thread() const;
  [[noreturn]] void sleep_for_ever();

  std::atomic<int64_t> running_{0}, asleep_{0};
  std::atomic<bool> closed_{false};
};

}  // namespace anabranch::torch_ops
