// Sleeping on a 32-bit word. Raw futexes, because std::atomic::wait of libstdc++ 12 sometimes takes
// milliseconds to wake; other systems use it all the same.
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace anabranch {

/// Sleeps while `word` holds `expected`; may also return without a reason.
inline void futex_wait(std::atomic<uint32_t>& word, uint32_t expected) {
#ifdef __linux__
  static_assert(sizeof(std::atomic<uint32_t>) == 4 && std::atomic<uint32_t>::is_always_lock_free);
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
#else
  word.wait(expected);
#endif
}

/// Wakes all who sleep on `word`. Uses only its address: the word may already be gone.
inline void futex_wake_all(std::atomic<uint32_t>& word) {
#ifdef __linux__
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
#else
  word.notify_all();
#endif
}

/// Tells the core that this is a spin loop.
inline void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace anabranch
