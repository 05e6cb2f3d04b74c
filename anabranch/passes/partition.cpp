#include "anabranch/passes/partition.h"

#include <algorithm>
#include <tuple>

#include "anabranch/passes/own_stream.h"
#include "anabranch/passes/super_kernel.h"

namespace anabranch::passes {

Partitioner::Partitioner(const Graph& graph, const CostModel& costs)
    : graph_(graph), costs_(costs), dependencies_(graph), movable_(graph.nodes.size(), false) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (!node.launches() || super_kernel_of(node)) continue;  // a scope is one unit
    const Stream& stream = graph.streams[node.stream.index()];
    const std::string* label = find_string(node.attributes, keys::kStreamLabel);
    // On its label's own stream: what went to an inner stream stays there.
    movable_[i] = label ? !label->empty() && stream.inner_parallel && *label == stream.label
                        : node.stream == kDefaultStream;
  }
}

bool Partitioner::unlabelled(NodeId node) const {
  return may_move(node) && graph_.node(node).stream == kDefaultStream;
}

Slot Partitioner::apart_slot(NodeId node) const {
  if (!unlabelled(node)) return 0;
  switch (own_stream(graph_.node(node))) {
    case OwnStream::Communication: return kCommunicationSlot;
    case OwnStream::Copy: return kCopySlot;
    case OwnStream::None: break;
  }
  return 0;
}

Partition Partitioner::by_class() const {
  Partition partition(graph_.nodes.size(), 0);
  bool cube = false;
  for (size_t i = 0; i < partition.size(); ++i)
    cube = cube ||
           (unlabelled(NodeId(i)) && costs_.cost(NodeId(i)).operator_class == OperatorClass::Cube);
  for (size_t i = 0; i < partition.size(); ++i) {
    NodeId id(i);
    if (!unlabelled(id)) continue;
    if (graph_.nodes[i].kind == NodeKind::Wait) {
      // Runs nothing: where it costs no event, behind the last operator it comes after.
      auto before = dependencies_.of(id);
      if (!before.empty() && unlabelled(before.back().from))
        partition[i] = partition[before.back().from.index()];
    } else if (Slot apart = apart_slot(id); apart != 0) {
      partition[i] = apart;
    } else if (cube && costs_.cost(id).operator_class == OperatorClass::Vector) {
      partition[i] = kVectorSlot;
    }
  }
  return partition;
}

Partition Partitioner::balanced(int streams, bool apart) const {
  return spread(std::vector<bool>(graph_.nodes.size(), false), 0, streams, apart);
}

Partition Partitioner::main_chain(int streams, bool apart) const {
  size_t count = graph_.nodes.size();
  if (streams < 2 && !apart) return Partition(count, 0);
  // The longest chain that ends at each operator, inside its group.
  std::vector<double> length(count, 0);
  std::vector<NodeId> previous(count);
  std::vector<NodeId> last(graph_.streams.size());
  for (size_t i = 0; i < count; ++i) {
    NodeId id(i);
    if (!may_move(id) || (apart && apart_slot(id) != 0)) continue;
    for (const Dependency& before : dependencies_.of(id)) {
      const Node& from = graph_.node(before.from);
      if (!may_move(before.from) || from.stream != graph_.nodes[i].stream) continue;
      if (apart && apart_slot(before.from) != 0) continue;
      if (previous[i].valid() && length[before.from.index()] <= length[previous[i].index()])
        continue;
      previous[i] = before.from;
    }
    length[i] = costs_.nanoseconds(id, 1);
    if (previous[i].valid()) length[i] += length[previous[i].index()];
    NodeId& best = last[graph_.nodes[i].stream.index()];
    if (!best.valid() || length[i] > length[best.index()]) best = id;
  }
  std::vector<bool> stays(count, false);
  for (NodeId node : last) {
    for (; node.valid(); node = previous[node.index()]) stays[node.index()] = true;
  }
  return spread(stays, streams < 2 ? 0 : 1, streams, apart);
}

Partition Partitioner::spread(const std::vector<bool>& stays, Slot first, int streams,
                              bool apart) const {
  size_t count = graph_.nodes.size();
  int threads = std::max(1, costs_.used_threads(0) / std::max(1, streams));
  double wait_ns = costs_.profile().wait_ns;
  Partition partition(count, 0);
  std::vector<double> done(count, 0);
  std::vector<double> free(graph_.streams.size() * kSlotCount, 0), load(free.size(), 0);
  auto place = [&](NodeId node, Slot slot) {
    return graph_.node(node).stream.index() * kSlotCount + slot;
  };
  for (size_t i = 0; i < count; ++i) {
    NodeId id(i);
    if (!graph_.nodes[i].launches()) continue;
    double cost = costs_.nanoseconds(id, threads);
    auto end = [&](Slot slot) {
      double start = free[place(id, slot)];
      for (const Dependency& before : dependencies_.of(id)) {
        bool here = place(before.from, partition[before.from.index()]) == place(id, slot);
        start = std::max(start, done[before.from.index()] + (here ? 0 : wait_ns));
      }
      return start + cost;
    };
    Slot chosen = apart ? apart_slot(id) : 0;
    if (chosen == 0 && may_move(id) && !stays[i]) {
      chosen = first;
      auto rank = [&](Slot slot) { return std::tuple(end(slot), load[place(id, slot)]); };
      for (int slot = first + 1; slot < streams; ++slot) {
        if (rank(static_cast<Slot>(slot)) < rank(chosen)) chosen = static_cast<Slot>(slot);
      }
    }
    done[i] = end(chosen);
    partition[i] = chosen;
    free[place(id, chosen)] = done[i];
    load[place(id, chosen)] += cost;
  }
  return partition;
}

double Partitioner::longest_chain() const {
  std::vector<double> length(graph_.nodes.size(), 0);
  double longest = 0;
  for (size_t i = 0; i < length.size(); ++i) {
    if (!graph_.nodes[i].launches()) continue;
    for (const Dependency& before : dependencies_.of(NodeId(i)))
      length[i] = std::max(length[i], length[before.from.index()]);
    length[i] += costs_.nanoseconds(NodeId(i), 0);
    longest = std::max(longest, length[i]);
  }
  return longest;
}

double Partitioner::total() const {
  double sum = 0;
  for (size_t i = 0; i < graph_.nodes.size(); ++i) sum += costs_.nanoseconds(NodeId(i), 0);
  return sum;
}

}  // namespace anabranch::passes
