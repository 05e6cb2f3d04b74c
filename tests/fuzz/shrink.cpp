#include "tests/fuzz/shrink.h"

#include <algorithm>

#include "anabranch/ir/text.h"
#include "anabranch/verify/verify.h"

namespace anabranch::fuzz {
namespace {

/// A copy whose bodies are its own.
Graph copy(const Graph& graph) {
  Graph made = graph;
  for (Node& node : made.nodes) {
    for (auto& body : node.bodies) body = std::make_shared<Graph>(copy(*body));
  }
  return made;
}

/// Marks what cannot stay when the marked nodes go: the users of their results, the other half of a
/// wait, and what uses a symbol that goes.
void mark_dependents(const Graph& graph, std::vector<bool>& erased) {
  std::vector<std::string> gone, names;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    bool lost = erased[i];
    auto look = [&](ValueId value) { lost = lost || erased[graph.value(value).producer.index()]; };
    auto look_at_symbols = [&](const Expr& expr) {
      names.clear();
      if (!expr.is_constant()) expr.collect_symbols(names);
      for (const std::string& name : names)
        lost = lost || std::find(gone.begin(), gone.end(), name) != gone.end();
    };
    for (const Operand& operand : node.operands) {
      for_each_value(operand.value, look);
      for_each_expr(operand.value, look_at_symbols);
    }
    for (ValueId value : node.reads) look(value);
    for (ValueId value : node.results) for_each_expr(graph.value(value).type, look_at_symbols);
    erased[i] = lost;
    if (!lost) continue;
    for (ValueId value : node.results) {
      if (const HostType* host = graph.value(value).host()) host->value.collect_symbols(gone);
    }
  }
}

/// A wait without a dependency would not be legal.
void mark_halves_of_waits(const Graph& graph, std::vector<bool>& erased) {
  auto has = [&](NodeKind kind, int64_t number) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      if (!erased[i] && node.kind == kind && node.wait_number == number) return true;
    }
    return false;
  };
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.kind == NodeKind::Wait && !has(NodeKind::WaitDependency, node.wait_number))
      erased[i] = true;
    if (node.kind == NodeKind::WaitDependency && !has(NodeKind::Wait, node.wait_number))
      erased[i] = true;
  }
}

class Shrinker {
 public:
  Shrinker(Graph graph, const std::function<bool(const Graph&)>& fails)
      : best_(std::move(graph)), fails_(fails) {}

  Graph run() {
    for (bool smaller = true; smaller;) {
      smaller = remove_nodes({});
      smaller = bypass_nodes() || smaller;
      smaller = remove_outputs() || smaller;
      smaller = simplify_nodes() || smaller;
      smaller = shrink_bodies() || smaller;
    }
    return best_;
  }

 private:
  /// Where a graph is: nothing is the program itself, else the path of (node, body) down to a body.
  using Path = std::vector<std::pair<size_t, size_t>>;

  static Graph& at(Graph& graph, const Path& path) {
    Graph* here = &graph;
    for (auto [node, body] : path) here = here->nodes[node].bodies[body].get();
    return *here;
  }

  bool accept(Graph candidate) {
    if (verify::has_errors(verify::check_graph(candidate)) || !fails_(candidate)) return false;
    best_ = std::move(candidate);
    return true;
  }

  bool try_without(const Path& path, size_t from, size_t to) {
    Graph candidate = copy(best_);
    Graph& graph = at(candidate, path);
    std::vector<bool> erased(graph.nodes.size(), false);
    for (size_t i = from; i < to; ++i) {
      bool input = graph.nodes[i].kind == NodeKind::Input;
      erased[i] = path.empty() || !input;  // the inputs of a body are its operands
    }
    for (size_t before = SIZE_MAX, now = 0; before != now; now = count(erased)) {
      before = count(erased);
      mark_dependents(graph, erased);
      mark_halves_of_waits(graph, erased);
    }
    if (count(erased) == 0) return false;
    auto gone = [&](const Argument& output) {
      bool any = false;
      for_each_value(output,
                     [&](ValueId v) { any = any || erased[graph.value(v).producer.index()]; });
      return any;
    };
    if (path.empty()) {
      std::erase_if(graph.outputs, gone);
    } else if (std::any_of(graph.outputs.begin(), graph.outputs.end(), gone)) {
      return false;  // a body keeps its outputs
    }
    graph.erase_nodes(erased);
    return accept(std::move(candidate));
  }

  static size_t count(const std::vector<bool>& marks) {
    return static_cast<size_t>(std::count(marks.begin(), marks.end(), true));
  }

  bool remove_nodes(const Path& path) {
    bool any = false;
    for (size_t piece = std::max<size_t>(1, at(best_, path).nodes.size() / 2);; piece /= 2) {
      for (size_t to = at(best_, path).nodes.size(); to > 0;) {
        size_t from = to > piece ? to - piece : 0;
        any = try_without(path, from, to) || any;
        to = std::min(from, at(best_, path).nodes.size());
      }
      if (piece == 1) return any;
    }
  }

  /// Lets the users of a result read an operand of the same type in its place.
  bool bypass_nodes() {
    bool any = false;
    for (size_t i = best_.nodes.size(); i-- > 0;) {
      if (i >= best_.nodes.size() || best_.nodes[i].results.size() != 1) continue;
      for (ValueId operand : best_.value_operands(NodeId(i))) {
        Graph candidate = copy(best_);
        ValueId result = candidate.nodes[i].results[0];
        if (!like(candidate, operand, result)) continue;
        auto replace = [&](ValueId& value) {
          if (value == result) value = operand;
        };
        for (Node& node : candidate.nodes) {
          for (Operand& one : node.operands) for_each_value(one.value, replace);
          for (ValueId& value : node.writes) replace(value);
          for (ValueId& value : node.reads) replace(value);
        }
        for (Argument& output : candidate.outputs) for_each_value(output, replace);
        if (!unaliased(candidate, result)) continue;
        std::vector<bool> erased(candidate.nodes.size(), false);
        erased[i] = true;
        mark_halves_of_waits(candidate, erased);
        candidate.erase_nodes(erased);
        if (!accept(std::move(candidate))) continue;
        any = true;
        break;
      }
    }
    return any;
  }

  static bool like(const Graph& graph, ValueId a, ValueId b) {
    const TensorType *first = graph.value(a).tensor(), *second = graph.value(b).tensor();
    return first && second && first->sizes == second->sizes;
  }

  /// The result did not make its buffer, or it is the only value there.
  static bool unaliased(const Graph& graph, ValueId result) {
    BufferId buffer = graph.value(result).tensor()->buffer;
    for (size_t v = 0; v < graph.values.size(); ++v) {
      const TensorType* type = graph.values[v].tensor();
      if (type && type->buffer == buffer && ValueId(v) != result) return v < result.index();
    }
    return true;
  }

  bool remove_outputs() {
    bool any = false;
    for (size_t i = best_.outputs.size(); i-- > 0;) {
      Graph candidate = copy(best_);
      candidate.outputs.erase(candidate.outputs.begin() + static_cast<ptrdiff_t>(i));
      any = accept(std::move(candidate)) || any;
    }
    return any;
  }

  /// One stream fewer for each operator, or at least one attribute fewer.
  bool simplify_nodes() {
    bool any = false;
    for (size_t i = 0; i < best_.nodes.size(); ++i) {
      if (best_.nodes[i].attributes.empty()) continue;
      Graph candidate = copy(best_);
      candidate.nodes[i].attributes.clear();
      if (accept(std::move(candidate))) {
        any = true;
        continue;
      }
      for (std::string_view key : {keys::kStreamPriority, keys::kInnerParallel}) {
        if (best_.nodes[i].attributes.count(key) == 0) continue;
        candidate = copy(best_);
        candidate.nodes[i].attributes.erase(candidate.nodes[i].attributes.find(key));
        any = accept(std::move(candidate)) || any;
      }
    }
    return any;
  }

  void collect_bodies(Graph& graph, const Path& path, std::vector<Path>& paths) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      for (size_t b = 0; b < graph.nodes[i].bodies.size(); ++b) {
        Path inner = path;
        inner.emplace_back(i, b);
        paths.push_back(inner);
        collect_bodies(*graph.nodes[i].bodies[b], inner, paths);
      }
    }
  }

  /// Only the first body that becomes smaller: the paths to the others may have changed.
  bool shrink_bodies() {
    std::vector<Path> paths;
    collect_bodies(best_, {}, paths);
    return std::any_of(paths.begin(), paths.end(),
                       [&](const Path& path) { return remove_nodes(path); });
  }

  Graph best_;
  const std::function<bool(const Graph&)>& fails_;
};

}  // namespace

Graph shrink(Graph graph, const std::function<bool(const Graph&)>& fails) {
  return Shrinker(std::move(graph), fails).run();
}

}  // namespace anabranch::fuzz
