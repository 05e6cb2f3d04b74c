// Numbers by name, for the names of a graph: open addressing, so that a big graph costs no
// allocation for each name.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace anabranch {

/// Does not own the names: they must outlive the table. Not thread-safe.
class NameTable {
 public:
  NameTable() : slots_(kSmallest) {}

  /// Makes room for so many names at once.
  void reserve(size_t names) {
    while (slots_.size() < names * 2) grow();
  }

  /// False if the name is there already; its number then stays.
  bool insert(std::string_view name, size_t number) {
    if ((count_ + 1) * 2 > slots_.size()) grow();
    Slot& slot = slots_[place_of(name)];
    if (slot.used) return false;
    slot = {name, static_cast<uint32_t>(number), true};
    ++count_;
    return true;
  }

  std::optional<size_t> find(std::string_view name) const {
    const Slot& slot = slots_[place_of(name)];
    if (!slot.used) return std::nullopt;
    return slot.number;
  }

 private:
  static constexpr size_t kSmallest = 16;  // a power of two, like every size

  struct Slot {
    std::string_view name;
    uint32_t number = 0;
    bool used = false;
  };

  /// Of the name, or of the free slot where it belongs.
  size_t place_of(std::string_view name) const {
    size_t place = std::hash<std::string_view>{}(name) & (slots_.size() - 1);
    while (slots_[place].used && slots_[place].name != name)
      place = (place + 1) & (slots_.size() - 1);
    return place;
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.used) slots_[place_of(slot.name)] = slot;
    }
  }

  std::vector<Slot> slots_;
  size_t count_ = 0;
};

}  // namespace anabranch
