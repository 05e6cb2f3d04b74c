// Decides from when to when each intermediate buffer lives.
//
// Guarantees: `acquire` is the operator that makes the buffer; `releases` are its maximal uses
// under happens-before, pairwise unordered, waits that hand the buffer on included. Buffers of
// inputs, constants and outputs belong to the caller and get no entry.
#include "anabranch/passes/buffer_users.h"
#include "anabranch/passes/passes.h"

namespace anabranch::passes {
namespace {

std::vector<bool> outlive_call(const Graph& graph) {
  std::vector<bool> outlives(graph.buffer_count, false);
  auto mark = [&](ValueId value) {
    if (const TensorType* type = graph.value(value).tensor()) outlives[type->buffer.index()] = true;
  };
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::Input && node.kind != NodeKind::Constant) continue;
    for (ValueId value : node.results) mark(value);
  }
  for (const Argument& output : graph.outputs) for_each_value(output, mark);
  return outlives;
}

/// Keeps `last` the latest users of one buffer, one per stream, while users come in program order.
void add_user(const HappensBefore& order, NodeId user, std::vector<NodeId>& last) {
  for (NodeId& earlier : last) {
    if (order.stream(earlier) != order.stream(user)) continue;
    if (order.before(earlier, user)) earlier = user;
    return;
  }
  last.push_back(user);
}

std::vector<NodeId> maximal(const HappensBefore& order, const std::vector<NodeId>& users) {
  std::vector<NodeId> kept;
  for (NodeId user : users) {
    bool followed = false;
    for (NodeId other : users) followed = followed || order.before(user, other);
    if (!followed) kept.push_back(user);
  }
  return kept;
}

}  // namespace

void plan_buffers(const Graph& graph, Schedule& schedule, const HappensBefore& order) {
  UseTable uses(graph);
  std::vector<bool> outlives = outlive_call(graph);
  std::vector<BufferLife> lives(graph.buffer_count);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    NodeId id(i);
    if (!order.stream(id).valid()) continue;
    auto use = [&](BufferId buffer) {
      if (outlives[buffer.index()]) return;
      BufferLife& life = lives[buffer.index()];
      if (!life.acquire.valid()) life.acquire = id;
      add_user(order, id, life.releases);
    };
    for_each_buffer_in_use(graph, uses, id, use);
  }
  schedule.buffers.clear();
  for (size_t b = 0; b < lives.size(); ++b) {
    if (!lives[b].acquire.valid()) continue;
    lives[b].buffer = BufferId(b);
    lives[b].releases = maximal(order, lives[b].releases);
    schedule.buffers.push_back(std::move(lives[b]));
  }
}

}  // namespace anabranch::passes
