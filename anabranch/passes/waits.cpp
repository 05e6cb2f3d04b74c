// Turns the two halves of a wait, `wait k (%self)` and `wait_dependency k (%dep)`, into control
// edges of the Wait.
//
// Guarantees: a Wait starts after every operator that wrote the dependency's memory before the wait
// in program order; through a dependency that is itself a Wait, after that Wait too. No
// WaitDependency is left, and no Wait whose result nobody uses.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "anabranch/analysis/memory_history.h"
#include "anabranch/ir/operands.h"
#include "anabranch/passes/dependencies.h"
#include "anabranch/passes/passes.h"

namespace anabranch::passes {
namespace {

using Markers = std::unordered_map<int64_t, std::vector<NodeId>>;

Markers find_markers(const Graph& graph) {
  Markers markers;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.kind == NodeKind::WaitDependency) markers[node.wait_number].push_back(NodeId(i));
  }
  return markers;
}

const std::vector<NodeId>& markers_of(const Markers& markers, const Node& wait) {
  static const std::vector<NodeId> none;
  auto found = markers.find(wait.wait_number);
  return wait.wait_number < 0 || found == markers.end() ? none : found->second;
}

/// What an operator, an input or an output needs, directly or through views, sizes and waits. A
/// needed wait needs its dependency.
std::vector<bool> find_needed(const Graph& graph, const Markers& markers) {
  std::vector<bool> needed(graph.nodes.size(), false);
  std::vector<NodeId> work;
  auto need = [&](NodeId id) {
    if (needed[id.index()]) return;
    needed[id.index()] = true;
    work.push_back(id);
  };
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    NodeKind kind = graph.nodes[i].kind;
    if (kind == NodeKind::Operator || kind == NodeKind::Input || kind == NodeKind::Constant) {
      need(NodeId(i));
    }
  }
  for (const Argument& output : graph.outputs) {
    for_each_value(output, [&](ValueId value) { need(graph.value(value).producer); });
  }
  while (!work.empty()) {
    NodeId id = work.back();
    work.pop_back();
    for_each_operand(graph, id, [&](ValueId value) { need(graph.value(value).producer); });
    for (ValueId value : graph.node(id).reads) need(graph.value(value).producer);
    for (const ControlEdge& edge : graph.node(id).control) need(edge.from);
    if (graph.node(id).kind != NodeKind::Wait) continue;
    for (NodeId marker : markers_of(markers, graph.node(id))) need(marker);
  }
  return needed;
}

/// Finds the operators behind one dependency, as the program stands where the wait is.
class Resolver {
 public:
  explicit Resolver(const Graph& graph)
      : graph_(graph),
        uses_(graph),
        history_(graph, uses_),
        dependencies_(graph),
        origin_(origins(graph)) {}

  void pass(NodeId node) { history_.record(node); }

  void append(NodeId marker, std::vector<NodeId>& after) const {
    for (ValueId value : graph_.value_operands(marker)) append_value(marker, value, after);
  }

 private:
  void append_value(NodeId marker, ValueId value, std::vector<NodeId>& after) const {
    size_t already = after.size();
    NodeId origin = origin_[value.index()];
    std::vector<NodeId> writers;
    if (const TensorType* type = graph_.value(value).tensor()) {
      history_.append_writers(type->buffer, byte_range(*type), writers);
    }
    // An alias on the way (a wait, say) must be passed through, and stands for what it aliases.
    bool through_alias = false;
    for (const Dependency& source : dependencies_.of(marker)) {
      bool alias = source.from != origin;
      if (alias || writers.empty()) after.push_back(source.from);
      through_alias = through_alias || alias;
    }
    for (NodeId writer : writers) {
      if (!through_alias || writer != origin) after.push_back(writer);
    }
    NodeKind kind = graph_.node(origin).kind;
    bool given = kind == NodeKind::Input || kind == NodeKind::Constant;
    if (after.size() == already && given)
      after.push_back(origin);  // shown in dumps; orders nothing
  }

  const Graph& graph_;
  UseTable uses_;
  MemoryHistory history_;
  Dependencies dependencies_;
  std::vector<NodeId> origin_;
};

void add_edges(const Graph& graph, NodeId id, std::vector<NodeId> after, Node& wait) {
  std::sort(after.begin(), after.end());
  after.erase(std::unique(after.begin(), after.end()), after.end());
  for (NodeId from : after) {
    if (from >= id) {
      throw Error(Diagnostic{Severity::Error,
                             "wait-order",
                             fmt::format("{} waits for {}, which comes later in the program",
                                         describe(wait), describe(graph.node(from))),
                             "wait after the dependency has been computed",
                             {wait.source, graph.node(from).source}});
    }
    ControlEdge edge{from, ControlReason::User};
    bool there = std::find(wait.control.begin(), wait.control.end(), edge) != wait.control.end();
    if (!there) wait.control.push_back(edge);
  }
}

void link_waits(Graph& graph, const Markers& markers, const std::vector<bool>& needed) {
  Resolver resolver(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    Node& node = graph.nodes[i];
    if (node.kind == NodeKind::Wait && needed[i] && node.wait_number >= 0) {
      const std::vector<NodeId>& own = markers_of(markers, node);
      if (own.empty()) {
        throw Error(Diagnostic{Severity::Error,
                               "wait-unmatched",
                               fmt::format("{} has number {}, but no wait_dependency has it",
                                           describe(node), node.wait_number),
                               "give the wait its wait_dependency of the same number",
                               {node.source}});
      }
      std::vector<NodeId> after;
      for (NodeId marker : own) resolver.append(marker, after);
      add_edges(graph, NodeId(i), std::move(after), node);
      node.wait_number = -1;
    }
    resolver.pass(NodeId(i));
  }
}

void erase_markers(Graph& graph, const std::vector<bool>& needed) {
  std::vector<bool> erased(graph.nodes.size(), false);
  bool any = false;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    NodeKind kind = graph.nodes[i].kind;
    erased[i] = kind == NodeKind::WaitDependency || (kind == NodeKind::Wait && !needed[i]);
    if (kind == NodeKind::View || kind == NodeKind::Size) {
      // An unused view of a wait that goes has to go with it.
      for (ValueId value : graph.value_operands(NodeId(i))) {
        erased[i] = erased[i] || erased[graph.value(value).producer.index()];
      }
    }
    any = any || erased[i];
  }
  if (any) graph.erase_nodes(erased);
}

}  // namespace

void resolve_waits(Graph& graph) {
  bool any = false;
  for (Node& node : graph.nodes) {
    for (auto& body : node.bodies) resolve_waits(*body);
    any = any || node.kind == NodeKind::Wait || node.kind == NodeKind::WaitDependency;
  }
  if (!any) return;
  Markers markers = find_markers(graph);
  std::vector<bool> needed = find_needed(graph, markers);
  link_waits(graph, markers, needed);
  erase_markers(graph, needed);
}

}  // namespace anabranch::passes
