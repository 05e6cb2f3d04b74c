// Orders what shares memory, for users who want a small arena more than parallel streams.
//
// Guarantees: afterwards data ∪ control edges order every user of a buffer before the operator that
// makes another buffer on the same bytes. `serial` is a plan for the operators in program order, so
// the edges go forward.
#include <algorithm>

#include "anabranch/passes/buffer_users.h"
#include "anabranch/passes/dependencies.h"
#include "anabranch/passes/memory_plan.h"

namespace anabranch::passes {
namespace {

std::vector<std::vector<NodeId>> users_by_buffer(const Graph& graph) {
  UseTable uses(graph);
  std::vector<std::vector<NodeId>> users(graph.buffer_count);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for_each_buffer_in_use(graph, uses, NodeId(i), [&](BufferId buffer) {
      std::vector<NodeId>& known = users[buffer.index()];
      if (known.empty() || known.back() != NodeId(i)) known.push_back(NodeId(i));
    });
  }
  return users;
}

ByteRange bytes_of(const BufferLife& life) {
  return {life.placement->offset, life.placement->offset + life.placement->size};
}

size_t add_edges(Graph& graph, const Dependencies& known, const std::vector<NodeId>& users,
                 NodeId maker) {
  size_t added = 0;
  std::vector<ControlEdge>& control = graph.node(maker).control;
  for (NodeId user : users) {
    auto direct = known.of(maker);
    bool there = std::any_of(direct.begin(), direct.end(),
                             [&](const Dependency& edge) { return edge.from == user; });
    ControlEdge edge{user, ControlReason::Effect};
    if (there || std::find(control.begin(), control.end(), edge) != control.end()) continue;
    control.push_back(edge);
    ++added;
  }
  return added;
}

}  // namespace

size_t order_reuse(Graph& graph, const Schedule& serial) {
  std::vector<const BufferLife*> placed, live;
  for (const BufferLife& life : serial.buffers) {
    if (life.placement) placed.push_back(&life);
  }
  std::sort(placed.begin(), placed.end(),
            [](const BufferLife* a, const BufferLife* b) { return a->acquire < b->acquire; });
  std::vector<std::vector<NodeId>> users = users_by_buffer(graph);
  Dependencies known(graph);
  size_t added = 0;
  for (const BufferLife* life : placed) {
    ByteRange range = bytes_of(*life);
    for (const BufferLife* other : live) {
      if (bytes_of(*other).overlaps(range))
        added += add_edges(graph, known, users[other->buffer.index()], life->acquire);
    }
    // Who covers an older one stands for it: its users come after the older one's.
    std::erase_if(live, [&](const BufferLife* other) { return range.contains(bytes_of(*other)); });
    live.push_back(life);
  }
  return added;
}

}  // namespace anabranch::passes
