// Permutes the graph, so that all later passes and the device see another program order.
//
// Guarantees: a permutation in which every node comes after what it depends on and after the first
// value of each buffer it names. verify::check_reordered proves it.
#include "anabranch/passes/launch_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <tuple>

#include "anabranch/ir/renumber.h"
#include "anabranch/passes/dependencies.h"

namespace anabranch::passes {
namespace {

constexpr std::array<std::string_view, 5> kNames{"", "BFS", "DFS", "RDFS", "StableRDFS"};

/// Edges between launched operators, both ways, by NodeId.
class LaunchGraph {
 public:
  explicit LaunchGraph(const Graph& graph)
      : graph_(graph),
        dependencies_(graph),
        before_(graph.nodes.size()),
        after_(graph.nodes.size()),
        listed_(graph.nodes.size(), 0) {
    std::vector<ValueId> roots = buffer_roots(graph);
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      if (!node.launches()) continue;
      NodeId id(i);
      std::vector<NodeId>& before = before_[i];
      for (ValueId value : graph.value_operands(id)) add(id, graph.value(value).producer);
      auto operands = static_cast<ptrdiff_t>(before.size());
      for (const Dependency& dependency : dependencies_.of(id)) add(id, dependency.from);
      for (ValueId value : node.reads) add(id, graph.value(value).producer);
      // A result in memory that exists is named after the value that made the memory.
      for (ValueId value : node.results) {
        const TensorType* type = graph.value(value).tensor();
        if (type) add(id, graph.value(roots[type->buffer.index()]).producer);
      }
      std::sort(before.begin() + operands, before.end());
      for (NodeId from : before) after_[from.index()].push_back(id);
    }
  }

  /// Data operands in operand order, then the others in program order.
  const std::vector<NodeId>& before(NodeId node) const { return before_[node.index()]; }
  /// In program order.
  const std::vector<NodeId>& after(NodeId node) const { return after_[node.index()]; }
  /// The launched operators behind a node that is not launched.
  std::span<const Dependency> behind(NodeId node) const { return dependencies_.of(node); }

 private:
  /// Lists `from`, or the launched operators behind it, once among the predecessors of `user`.
  void add(NodeId user, NodeId from) {
    if (!graph_.node(from).launches()) {
      for (const Dependency& dependency : dependencies_.of(from)) list(user, dependency.from);
    } else if (from != user) {
      list(user, from);
    }
  }
  void list(NodeId user, NodeId from) {
    size_t mark = user.index() + 1;
    if (listed_[from.index()] == mark) return;
    listed_[from.index()] = mark;
    before_[user.index()].push_back(from);
  }

  const Graph& graph_;
  Dependencies dependencies_;
  std::vector<std::vector<NodeId>> before_, after_;
  std::vector<size_t> listed_;  // by node: 1 + the last user that lists it
};

std::vector<NodeId> kahn(const Graph& graph, const LaunchGraph& edges, bool depth_first) {
  std::vector<size_t> missing(graph.nodes.size(), 0);
  std::deque<NodeId> ready;
  std::vector<NodeId> sequence, freed;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!graph.nodes[i].launches()) continue;
    missing[i] = edges.before(NodeId(i)).size();
    if (missing[i] == 0) ready.emplace_back(i);
  }
  while (!ready.empty()) {
    NodeId node = ready.front();
    ready.pop_front();
    sequence.push_back(node);
    freed.clear();
    for (NodeId user : edges.after(node)) {
      if (--missing[user.index()] == 0) freed.push_back(user);
    }
    auto where = depth_first ? ready.begin() : ready.end();
    ready.insert(where, freed.begin(), freed.end());
  }
  return sequence;
}

/// Post-order against the edges, with a stack of its own: graphs are deeper than call stacks.
class PostOrder {
 public:
  PostOrder(const Graph& graph, const LaunchGraph& edges)
      : edges_(edges), next_(graph.nodes.size(), 0), seen_(graph.nodes.size(), false) {}

  void visit(NodeId root) {
    push(root);
    while (!stack_.empty()) {
      NodeId node = stack_.back();
      const std::vector<NodeId>& before = edges_.before(node);
      size_t& next = next_[node.index()];
      if (next < before.size()) {
        push(before[next++]);
        continue;
      }
      sequence_.push_back(node);
      stack_.pop_back();
    }
  }
  std::vector<NodeId> take() { return std::move(sequence_); }

 private:
  void push(NodeId node) {
    if (seen_[node.index()]) return;
    seen_[node.index()] = true;
    stack_.push_back(node);
  }

  const LaunchGraph& edges_;
  std::vector<size_t> next_;  // by node: the next predecessor to visit
  std::vector<bool> seen_;
  std::vector<NodeId> stack_, sequence_;
};

std::vector<NodeId> reverse_depth_first(const Graph& graph, const LaunchGraph& edges,
                                        bool from_results) {
  PostOrder order(graph, edges);
  if (from_results) {
    for (const Argument& output : graph.outputs) {
      for_each_value(output, [&](ValueId value) {
        NodeId producer = graph.value(value).producer;
        if (graph.node(producer).launches()) return order.visit(producer);
        for (const Dependency& behind : edges.behind(producer)) order.visit(behind.from);
      });
    }
    // What no result needs is done for its effect; its last operators have no consumers.
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      bool last = graph.nodes[i].launches() && edges.after(NodeId(i)).empty();
      if (last) order.visit(NodeId(i));
    }
  } else {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      if (graph.nodes[i].launches()) order.visit(NodeId(i));
    }
  }
  return order.take();
}

std::vector<NodeId> sequence_of(const Graph& graph, const LaunchGraph& edges, LaunchOrder order) {
  switch (order) {
    case LaunchOrder::BFS: return kahn(graph, edges, false);
    case LaunchOrder::DFS: return kahn(graph, edges, true);
    case LaunchOrder::RDFS: return reverse_depth_first(graph, edges, true);
    case LaunchOrder::StableRDFS:
    case LaunchOrder::Program: break;
  }
  return reverse_depth_first(graph, edges, false);
}

}  // namespace

std::string_view to_string(LaunchOrder order) { return kNames[static_cast<size_t>(order)]; }

LaunchOrder parse_launch_order(std::string_view name) {
  auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found != kNames.end()) return static_cast<LaunchOrder>(found - kNames.begin());
  throw Error("launch-order", fmt::format("no topological order is called \"{}\"", name),
              "one of BFS, DFS, RDFS, StableRDFS");
}

void order_launches(Graph& graph, LaunchOrder order) {
  if (order == LaunchOrder::Program) return;
  LaunchGraph edges(graph);
  std::vector<size_t> rank(graph.nodes.size(), 0);  // 1-based among the launches
  size_t count = 0;
  for (NodeId node : sequence_of(graph, edges, order)) rank[node.index()] = ++count;
  // (after which launch, is no launch itself, place in the program)
  using Key = std::tuple<size_t, bool, size_t>;
  std::vector<Key> keys;
  keys.reserve(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    bool launched = graph.nodes[i].launches();
    for (const Dependency& behind : edges.behind(NodeId(i))) {
      if (!launched) rank[i] = std::max(rank[i], rank[behind.from.index()]);
    }
    keys.emplace_back(rank[i], !launched, i);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<NodeId> nodes;
  nodes.reserve(keys.size());
  for (const Key& key : keys) nodes.emplace_back(std::get<2>(key));
  reorder(graph, nodes);
}

}  // namespace anabranch::passes
