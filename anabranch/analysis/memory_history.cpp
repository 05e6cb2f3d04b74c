#include "anabranch/analysis/memory_history.h"

#include <algorithm>

namespace anabranch {

MemoryHistory::MemoryHistory(const Graph& graph, const UseTable& uses)
    : uses_(uses), buffers_(uses.buffer_count()), writes_left_(uses.buffer_count(), 0) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const Use& use : uses_.of(NodeId(i))) writes_left_[use.buffer.index()] += use.writes();
  }
}

MemoryHistory::Segments::const_iterator MemoryHistory::find(const Segments& segments, int64_t at) {
  auto after = segments.upper_bound(at);
  return after == segments.begin() ? after : std::prev(after);
}

void MemoryHistory::append_writers(BufferId buffer, ByteRange range,
                                   std::vector<NodeId>& writers) const {
  const Segments& segments = buffers_[buffer.index()];
  if (range.empty()) return;
  for (auto it = find(segments, range.begin); it != segments.end() && it->first < range.end; ++it) {
    if (it->second.writer.valid()) writers.push_back(it->second.writer);
  }
}

void MemoryHistory::append_conflicts(const Use& use, std::vector<NodeId>& operators) const {
  const Segments& segments = buffers_[use.buffer.index()];
  if (use.range.empty()) return;
  auto it = find(segments, use.range.begin);
  for (; it != segments.end() && it->first < use.range.end; ++it) {
    const Segment& segment = it->second;
    if (segment.writer.valid()) operators.push_back(segment.writer);
    if (use.writes())
      operators.insert(operators.end(), segment.readers.begin(), segment.readers.end());
  }
}

void MemoryHistory::record(NodeId node) {
  // Reads first: an operator that reads and writes the same bytes counts as their writer.
  for (const Use& use : uses_.of(node)) {
    if (!use.writes() && !use.range.empty()) record_read(node, use);
  }
  for (const Use& use : uses_.of(node)) {
    if (!use.writes()) continue;
    --writes_left_[use.buffer.index()];
    if (!use.range.empty()) record_write(node, use);
  }
}

MemoryHistory::Segments::iterator MemoryHistory::split(Segments& segments, int64_t at) {
  if (segments.empty()) segments.emplace(0, Segment{});
  auto next = segments.lower_bound(at);
  if (next != segments.end() && next->first == at) return next;
  if (next == segments.begin()) return segments.emplace_hint(next, at, Segment{});
  return segments.emplace_hint(next, at, std::prev(next)->second);
}

void MemoryHistory::record_write(NodeId node, const Use& use) {
  Segments& segments = buffers_[use.buffer.index()];
  auto begin = split(segments, use.range.begin);
  // The last byte that an address can name ends every buffer: no segment starts there.
  auto end =
      use.range.end == ByteRange::whole().end ? segments.end() : split(segments, use.range.end);
  begin->second = Segment{node, {}};
  segments.erase(std::next(begin), end);
}

void MemoryHistory::record_read(NodeId node, const Use& use) {
  if (writes_left_[use.buffer.index()] == 0) return;
  Segments& segments = buffers_[use.buffer.index()];
  auto begin = split(segments, use.range.begin);
  auto end =
      use.range.end == ByteRange::whole().end ? segments.end() : split(segments, use.range.end);
  for (auto it = begin; it != end; ++it) {
    std::vector<NodeId>& readers = it->second.readers;
    if (readers.empty() || readers.back() != node) readers.push_back(node);
  }
}

}  // namespace anabranch
