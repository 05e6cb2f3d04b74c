// Objects that wait to be used again.
#pragma once

#include <array>
#include <atomic>
#include <memory>

namespace anabranch {

/// Thread-safe. No lock: one that another thread held during a fork would stay locked in the child.
/// Keeps a bounded number; what is given back beyond it is destroyed.
template <class T>
class IdlePool {
 public:
  IdlePool() = default;
  ~IdlePool() {
    for (std::atomic<T*>& slot : slots_) delete slot.load();
  }
  IdlePool(const IdlePool&) = delete;
  IdlePool& operator=(const IdlePool&) = delete;

  /// Null when none waits.
  std::unique_ptr<T> take() {
    for (std::atomic<T*>& slot : slots_) {
      if (!slot.load(std::memory_order_relaxed)) continue;
      if (T* item = slot.exchange(nullptr, std::memory_order_acquire))
        return std::unique_ptr<T>(item);
    }
    return nullptr;
  }

  void give_back(std::unique_ptr<T> item) noexcept {
    for (std::atomic<T*>& slot : slots_) {
      T* empty = nullptr;
      if (!slot.compare_exchange_strong(empty, item.get(), std::memory_order_release,
                                        std::memory_order_relaxed))
        continue;
      static_cast<void>(item.release());
      return;
    }
  }

 private:
  std::array<std::atomic<T*>, 32> slots_{};
};

}  // namespace anabranch
