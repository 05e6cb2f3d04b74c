#include <algorithm>

#include "anabranch/schedule/schedule.h"

namespace anabranch {

const std::optional<Placement>& MemoryLayout::of(BufferId buffer) const {
  static const std::optional<Placement> none;
  return buffer.index() < placements.size() ? placements[buffer.index()] : none;
}

MemoryLayout memory_layout(const Schedule& schedule) {
  MemoryLayout layout;
  for (const BufferLife& life : schedule.buffers) {
    if (!life.placement) continue;
    if (layout.placements.size() <= life.buffer.index())
      layout.placements.resize(life.buffer.index() + 1);
    layout.placements[life.buffer.index()] = life.placement;
    layout.arena_bytes =
        std::max(layout.arena_bytes, life.placement->offset + life.placement->size);
  }
  return layout;
}

}  // namespace anabranch
