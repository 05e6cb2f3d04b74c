#include "anabranch/passes/dependencies.h"

#include <fmt/format.h>

#include <algorithm>

#include "anabranch/ir/operands.h"
#include "anabranch/passes/passes.h"

namespace anabranch::passes {
namespace {

using Definers = std::unordered_map<std::string, NodeId>;

/// Walks the graph once. Size symbols that no input brings are made by the first operator whose
/// result mentions them (an `item`, a `nonzero`): whoever uses the symbol comes after it.
class Collector {
 public:
  explicit Collector(const Graph& graph) : graph_(graph) {}

  void run(std::vector<Dependency>& all, std::vector<size_t>& first) {
    first.reserve(graph_.nodes.size() + 1);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      first.push_back(all.size());
      found_.clear();
      collect(graph_.nodes[i], all, first);
      define(NodeId(i));
      std::sort(found_.begin(), found_.end(), [](const Dependency& a, const Dependency& b) {
        return a.from != b.from ? a.from < b.from : a.kind < b.kind;
      });
      auto same = [](const Dependency& a, const Dependency& b) { return a.from == b.from; };
      found_.erase(std::unique(found_.begin(), found_.end(), same), found_.end());
      all.insert(all.end(), found_.begin(), found_.end());
    }
    first.push_back(all.size());
  }

 private:
  void collect(const Node& node, const std::vector<Dependency>& all,
               const std::vector<size_t>& first) {
    for (const Operand& operand : node.operands) {
      for_each_value(operand.value, [&](ValueId value) {
        NodeId producer = graph_.value(value).producer;
        if (graph_.node(producer).launches()) {
          found_.push_back({producer, DependencyKind::Data, value});
          return;
        }
        for (size_t k = first[producer.index()]; k < first[producer.index() + 1]; ++k) {
          found_.push_back({all[k].from, DependencyKind::Data, value});
        }
      });
      for_each_expr(operand.value, [&](const Expr& expr) { add_symbols(expr); });
    }
    for (ValueId result : node.results) {
      for_each_expr(graph_.value(result).type, [&](const Expr& expr) { add_symbols(expr); });
    }
    for (const ControlEdge& edge : node.control) {
      if (!graph_.node(edge.from).launches()) continue;
      auto kind =
          edge.reason == ControlReason::User ? DependencyKind::Wait : DependencyKind::Effect;
      found_.push_back({edge.from, kind, ValueId{}});
    }
  }

  void add_symbols(const Expr& expr) {
    if (expr.is_constant()) return;
    symbols_.clear();
    expr.collect_symbols(symbols_);
    for (const std::string& symbol : symbols_) {
      auto definer = definers_.find(symbol);
      if (definer == definers_.end() || !definer->second.valid()) continue;
      found_.push_back({definer->second, DependencyKind::Data, ValueId{}});
    }
  }

  void define(NodeId id) {
    const Node& node = graph_.node(id);
    if (!node.launches() && node.kind != NodeKind::Input) return;
    for (ValueId result : node.results) {
      for_each_expr(graph_.value(result).type, [&](const Expr& expr) {
        if (expr.is_constant()) return;
        symbols_.clear();
        expr.collect_symbols(symbols_);
        NodeId definer = node.launches() ? id : NodeId{};
        for (const std::string& symbol : symbols_) definers_.emplace(symbol, definer);
      });
    }
  }

  const Graph& graph_;
  Definers definers_;  // by symbol; invalid: an input brings it
  std::vector<Dependency> found_;
  std::vector<std::string> symbols_;
};

}  // namespace

Dependencies::Dependencies(const Graph& graph) { Collector(graph).run(all_, first_); }

std::span<const Dependency> Dependencies::of(NodeId node) const {
  size_t begin = first_[node.index()], end = first_[node.index() + 1];
  return {all_.data() + begin, end - begin};
}

std::string why(const Graph& graph, const UseTable& uses, NodeId to, const Dependency& dependency) {
  if (dependency.kind == DependencyKind::Wait) return "wait";
  if (dependency.kind == DependencyKind::Data) {
    return dependency.value.valid() ? "data %" + graph.value(dependency.value).name : "data size";
  }
  for (const Use& earlier : uses.of(dependency.from)) {
    for (const Use& later : uses.of(to)) {
      if (conflicts(earlier, later)) return "effect: " + uses.describe(graph, later.buffer);
    }
  }
  return "memory";  // no common use: an order that lets buffers share bytes
}

std::vector<NodeId> origins(const Graph& graph) {
  std::vector<NodeId> origin(graph.values.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    for (ValueId result : node.results) {
      origin[result.index()] = NodeId(i);
      const TensorType* type = graph.value(result).tensor();
      bool hands_on =
          node.kind == NodeKind::View || node.kind == NodeKind::Wait ||
          (node.kind == NodeKind::Operator && node.writes.empty() && node.bodies.empty());
      if (!type || !hands_on) continue;
      bool found = false;
      for_each_operand(graph, NodeId(i), [&](ValueId operand) {
        const TensorType* source = graph.value(operand).tensor();
        if (found || !source || source->buffer != type->buffer) return;
        origin[result.index()] = origin[operand.index()];
        found = true;
      });
    }
  }
  return origin;
}

std::vector<CrossEdge> required_predecessors(const Graph& graph, NodeId node) {
  Dependencies dependencies(graph);
  UseTable uses(graph);
  std::vector<CrossEdge> edges;
  for (const Dependency& dependency : dependencies.of(node)) {
    edges.push_back({dependency.from, node, why(graph, uses, node, dependency)});
  }
  return edges;
}

}  // namespace anabranch::passes
