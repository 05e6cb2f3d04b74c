// Places intermediate buffers in one arena per call.
//
// Guarantees: two buffers share bytes only if all last users of one happen before the operator that
// makes the other, across streams too; so no order is added for the sake of memory.
//
// Method: two heuristics, of which the smaller arena wins. "Largest first" (greedy by size;
// Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020), with
// happens-before in the place of their intervals, compares all pairs and is left out for big
// graphs. "As they come" walks the program and takes the tightest run of free blocks: linear, for
// every graph.
#include "anabranch/passes/memory_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "anabranch/ir/uses.h"

namespace anabranch::passes {
namespace {

constexpr int64_t kAlignment = 64;
constexpr size_t kMostForAllPairs = 2000;
constexpr size_t kMostBlocks = 64;

struct Item {
  size_t life = 0;    // index into schedule.buffers
  int64_t bytes = 0;  // what the values on it need
  int64_t size = 0;   // the same, rounded up to the alignment
  NodeId acquire;
};

class Sharing {
 public:
  Sharing(const Schedule& schedule, const HappensBefore& order)
      : schedule_(schedule), order_(order) {}

  /// True if nothing uses `first` any more when `second` is made.
  bool precedes(const Item& first, const Item& second) const {
    const std::vector<NodeId>& releases = schedule_.buffers[first.life].releases;
    return std::all_of(releases.begin(), releases.end(),
                       [&](NodeId release) { return order_.before(release, second.acquire); });
  }
  bool may_share(const Item& a, const Item& b) const { return precedes(a, b) || precedes(b, a); }

 private:
  const Schedule& schedule_;
  const HappensBefore& order_;
};

using Offsets = std::vector<int64_t>;  // by item

int64_t arena_of(const std::vector<Item>& items, const Offsets& offsets) {
  int64_t end = 0;
  for (size_t i = 0; i < items.size(); ++i) end = std::max(end, offsets[i] + items[i].size);
  return end;
}

Offsets largest_first(const std::vector<Item>& items, const Sharing& sharing) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return items[a].size > items[b].size; });
  Offsets offsets(items.size(), 0);
  std::vector<size_t> placed;  // by offset
  for (size_t item : order) {
    int64_t end = 0, best = -1, best_gap = 0;  // of the placed items that it must not touch
    for (size_t other : placed) {
      if (sharing.may_share(items[item], items[other])) continue;
      int64_t gap = offsets[other] - end;
      if (gap >= items[item].size && (best < 0 || gap < best_gap)) {
        best = end;
        best_gap = gap;
      }
      end = std::max(end, offsets[other] + items[other].size);
    }
    offsets[item] = best < 0 ? end : best;
    auto later = std::upper_bound(placed.begin(), placed.end(), offsets[item],
                                  [&](int64_t at, size_t other) { return at < offsets[other]; });
    placed.insert(later, item);
  }
  return offsets;
}

/// The arena while the program is walked: blocks without gaps, each with the item that has it last.
/// Up to kMostBlocks of them are looked at for an item, beginning where the last search ended, so
/// that the walk stays linear however many blocks are in use.
class Arena {
 public:
  Arena(const std::vector<Item>& items, const Sharing& sharing)
      : items_(items), sharing_(sharing) {}

  int64_t take(size_t item) {
    Run best;
    size_t block = count_ > kMostBlocks ? cursor_ : first_;
    for (size_t seen = 0; seen < kMostBlocks && block != kNone;) {
      if (!is_free(blocks_[block], item)) {
        block = blocks_[block].next;
        ++seen;
        continue;
      }
      Run run{block, block, 0};
      while (run.end != kNone && is_free(blocks_[run.end], item)) {
        run.size += blocks_[run.end].size;
        run.end = blocks_[run.end].next;
        ++seen;
      }
      block = run.end;
      bool fits = run.size >= items_[item].size;
      bool at_end = run.end == kNone;  // grows as far as needed
      if (best.empty() ? fits || at_end : fits && run.size < best.size) best = run;
    }
    cursor_ = block == kNone ? first_ : block;
    return put(item, best);
  }

 private:
  static constexpr size_t kNone = std::numeric_limits<size_t>::max();

  struct Block {  // of a list in the order of offsets
    int64_t offset = 0, size = 0;
    size_t owner = 0;
    size_t previous = kNone, next = kNone;
  };
  struct Run {
    size_t first = kNone, end = kNone;  // blocks [first, end)
    int64_t size = 0;
    bool empty() const { return first == end; }
  };

  bool is_free(const Block& block, size_t item) const {
    return sharing_.precedes(items_[block.owner], items_[item]);
  }

  /// Without a run the item goes to the end.
  int64_t put(size_t item, const Run& run) {
    int64_t left = items_[item].size;
    size_t previous = run.empty() ? last_ : blocks_[run.first].previous;
    size_t next = run.first;
    int64_t offset = previous == kNone ? 0 : blocks_[previous].offset + blocks_[previous].size;
    while (next != run.end && left >= blocks_[next].size) {
      left -= blocks_[next].size;
      next = remove(next);
    }
    if (next != run.end) {  // the rest of it stays
      blocks_[next].offset += left;
      blocks_[next].size -= left;
    }
    insert({offset, items_[item].size, item, previous, next});
    return offset;
  }

  void insert(const Block& block) {
    size_t place = blocks_.size();
    if (unused_.empty()) {
      blocks_.push_back(block);
    } else {
      place = unused_.back();
      unused_.pop_back();
      blocks_[place] = block;
    }
    (block.previous == kNone ? first_ : blocks_[block.previous].next) = place;
    (block.next == kNone ? last_ : blocks_[block.next].previous) = place;
    ++count_;
  }

  /// Returns the block after it.
  size_t remove(size_t place) {
    const Block& block = blocks_[place];
    (block.previous == kNone ? first_ : blocks_[block.previous].next) = block.next;
    (block.next == kNone ? last_ : blocks_[block.next].previous) = block.previous;
    if (cursor_ == place) cursor_ = block.next;
    unused_.push_back(place);
    --count_;
    return block.next;
  }

  const std::vector<Item>& items_;
  const Sharing& sharing_;
  std::vector<Block> blocks_;
  std::vector<size_t> unused_;  // places in blocks_
  size_t first_ = kNone, last_ = kNone, cursor_ = kNone, count_ = 0;
};

Offsets as_they_come(const std::vector<Item>& items, const Sharing& sharing) {
  Arena arena(items, sharing);
  Offsets offsets;
  for (size_t i = 0; i < items.size(); ++i) offsets.push_back(arena.take(i));
  return offsets;
}

/// Bytes that the values on each buffer need, or -1 where a size is symbolic or starts below 0.
std::vector<int64_t> buffer_sizes(const Graph& graph) {
  std::vector<int64_t> sizes(graph.buffer_count, 0);
  for (const Value& value : graph.values) {
    const TensorType* type = value.tensor();
    if (!type) continue;
    int64_t& size = sizes[type->buffer.index()];
    ByteRange range = byte_range(*type);
    size = size < 0 || !type->is_static() || range.begin < 0 ? -1 : std::max(size, range.end);
  }
  return sizes;
}

std::vector<Item> find_items(const Graph& graph, const Schedule& schedule,
                             const std::vector<bool>& placeable) {
  std::vector<int64_t> sizes = buffer_sizes(graph);
  std::vector<Item> items;
  for (size_t i = 0; i < schedule.buffers.size(); ++i) {
    const BufferLife& life = schedule.buffers[i];
    int64_t bytes = sizes[life.buffer.index()];
    if (!placeable[life.buffer.index()] || bytes < 0) continue;
    int64_t size = (std::max<int64_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
    items.push_back({i, bytes, size, life.acquire});
  }
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
    return a.acquire != b.acquire ? a.acquire < b.acquire : a.life < b.life;
  });
  return items;
}

int64_t most_at_once(const Graph& graph, const Schedule& schedule, const std::vector<Item>& items) {
  std::vector<int64_t> begins(graph.nodes.size(), 0), ends(graph.nodes.size(), 0);
  for (const Item& item : items) {
    const std::vector<NodeId>& releases = schedule.buffers[item.life].releases;
    begins[item.acquire.index()] += item.size;
    ends[std::max_element(releases.begin(), releases.end())->index()] += item.size;
  }
  int64_t live = 0, most = 0;
  for (size_t i = 0; i < begins.size(); ++i) {
    live += begins[i];
    most = std::max(most, live);
    live -= ends[i];
  }
  return most;
}

}  // namespace

MemoryReport plan_memory(const Graph& graph, Schedule& schedule, const HappensBefore& order,
                         const std::vector<bool>& placeable) {
  std::vector<Item> items = find_items(graph, schedule, placeable);
  Sharing sharing(schedule, order);
  Offsets offsets = as_they_come(items, sharing);
  if (items.size() <= kMostForAllPairs) {
    Offsets other = largest_first(items, sharing);
    if (arena_of(items, other) < arena_of(items, offsets)) offsets = std::move(other);
  }
  MemoryReport report;
  report.placed = items.size();
  report.arena = arena_of(items, offsets);
  report.lower_bound = most_at_once(graph, schedule, items);
  for (size_t i = 0; i < items.size(); ++i) {
    schedule.buffers[items[i].life].placement = Placement{offsets[i], items[i].bytes};
    report.unshared += items[i].size;
  }
  return report;
}

void copy_placements(const Schedule& plan, Schedule& schedule) {
  MemoryLayout layout = memory_layout(plan);
  for (BufferLife& life : schedule.buffers) life.placement = layout.of(life.buffer);
}

}  // namespace anabranch::passes
