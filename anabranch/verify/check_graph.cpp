#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "anabranch/base/name_table.h"
#include "anabranch/ir/operands.h"
#include "anabranch/verify/verify.h"

namespace anabranch::verify {
namespace {

class GraphChecker {
 public:
  GraphChecker(const Graph& graph, std::vector<Diagnostic>& findings)
      : graph_(graph), findings_(findings), made_(graph.buffer_count, false) {}

  void run() {
    check_ids();
    // The other rules follow ids into the graph.
    if (has_errors(findings_)) return;
    check_names();
    collect_wait_numbers();
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      check_uses(NodeId(i));
      check_buffers(NodeId(i));
      if (node.kind == NodeKind::Wait) check_wait(NodeId(i));
      for (const auto& body : node.bodies) GraphChecker(*body, findings_).run();
    }
  }

 private:
  void report(const char* rule, std::string message, std::string fix, const Node* node) {
    std::vector<SourceLocation> where;
    if (node && node->source.known()) where.push_back(node->source);
    findings_.push_back(
        {Severity::Error, rule, std::move(message), std::move(fix), std::move(where)});
  }

  /// Every id names something that exists.
  void check_ids() {
    auto bad_value = [&](ValueId value) {
      return !value.valid() || value.index() >= graph_.values.size() ||
             graph_.value(value).producer.index() >= graph_.nodes.size();
    };
    auto undefined = [&](const Node* node, const std::string& where) {
      report("value-undefined", where + " refers to a value that the graph does not have",
             "refer only to results of the graph's operators", node);
    };
    for (const Node& node : graph_.nodes) {
      bool bad = false;
      for (const Operand& operand : node.operands) {
        for_each_value(operand.value, [&](ValueId value) { bad = bad || bad_value(value); });
      }
      for (ValueId value : node.results) bad = bad || bad_value(value);
      for (ValueId value : node.writes) bad = bad || bad_value(value);
      for (ValueId value : node.reads) bad = bad || bad_value(value);
      if (bad) undefined(&node, describe(node));
      if (node.stream.index() >= graph_.streams.size()) {
        report("stream-unknown",
               fmt::format("{} is on stream {}, which the graph does not declare", describe(node),
                           node.stream.index()),
               "declare the stream", &node);
      }
      for (const ControlEdge& edge : node.control) {
        if (edge.from.index() < graph_.nodes.size()) continue;
        report("control-backward", describe(node) + " comes after an operator that does not exist",
               "refer only to operators of the graph", &node);
      }
    }
    for (const Argument& output : graph_.outputs) {
      bool bad = false;
      for_each_value(output, [&](ValueId value) { bad = bad || bad_value(value); });
      if (bad) undefined(nullptr, "the graph's return");
    }
    for (const Value& value : graph_.values) {
      const TensorType* type = value.tensor();
      if (!type || type->buffer.index() < graph_.buffer_count) continue;
      report("buffer-unknown",
             fmt::format("%{} is in a buffer that the graph does not have", value.name),
             fmt::format("use one of b0 … b{}", graph_.buffer_count), nullptr);
    }
  }

  void check_names() {
    NameTable nodes, values;
    nodes.reserve(graph_.nodes.size());
    values.reserve(graph_.values.size());
    for (const Node& node : graph_.nodes) {
      if (nodes.insert(node.name, 0)) continue;
      report("duplicate-name", "two operators are named " + node.name,
             "give each operator its own name", &node);
    }
    for (const Value& value : graph_.values) {
      if (values.insert(value.name, 0)) continue;
      report("duplicate-name", "two results are named %" + value.name,
             "give each result its own name", &graph_.node(value.producer));
    }
  }

  void collect_wait_numbers() {
    for (const Node& node : graph_.nodes) {
      if (node.kind == NodeKind::WaitDependency) dependency_numbers_.insert(node.wait_number);
    }
  }

  /// Operands and control inputs come earlier; what is written is an operand.
  void check_uses(NodeId id) {
    const Node& node = graph_.node(id);
    auto check_made = [&](ValueId value) {
      if (graph_.value(value).producer < id) return;
      report("value-undefined",
             fmt::format("{} uses %{} before it is made", describe(node), graph_.value(value).name),
             "put the operator that makes it first", &node);
    };
    for_each_operand(graph_, id, check_made);
    for (ValueId value : node.reads) check_made(value);
    for (ValueId value : node.writes) {
      bool operand = false;
      for_each_operand(graph_, id, [&](ValueId each) { operand = operand || each == value; });
      if (operand) continue;
      report("write-not-operand",
             fmt::format("{} says that it writes %{}, which is not among its operands",
                         describe(node), graph_.value(value).name),
             "name only operands in writes(...)", &node);
    }
    for (const ControlEdge& edge : node.control) {
      if (edge.from < id) continue;
      report("control-backward",
             fmt::format("{} must come after {}, which the program has later", describe(node),
                         describe(graph_.node(edge.from))),
             "let it come after an earlier operator", &node);
    }
  }

  /// A buffer is made once, by an input, a constant or an operator; the rest are windows on it.
  void check_buffers(NodeId id) {
    const Node& node = graph_.node(id);
    bool window = node.kind == NodeKind::View || node.kind == NodeKind::Wait;
    for (ValueId result : node.results) {
      const TensorType* type = graph_.value(result).tensor();
      if (!type) {
        if (!window) continue;
        report("view-buffer", describe(node) + " makes a host integer", "give it a tensor type",
               &node);
        continue;
      }
      if (node.kind == NodeKind::Size) {
        report("size-tensor", describe(node) + " makes a tensor", "give it the type int(...)",
               &node);
      }
      if (window && !has_operand_in(id, type->buffer)) {
        report("view-buffer",
               fmt::format("{} makes %{} in buffer b{}, where none of its operands is",
                           describe(node), graph_.value(result).name, type->buffer.index()),
               "a view stays in its operand's buffer", &node);
      }
      made_[type->buffer.index()] = true;
    }
  }

  bool has_operand_in(NodeId id, BufferId buffer) const {
    bool found = false;
    for_each_operand(graph_, id, [&](ValueId operand) {
      const TensorType* type = graph_.value(operand).tensor();
      found = found || (type && type->buffer == buffer && made_[buffer.index()]);
    });
    return found;
  }

  void check_wait(NodeId id) {
    const Node& node = graph_.node(id);
    if (graph_.value_operands(id).size() != 1 || node.results.size() != 1) {
      report("wait-form",
             fmt::format("{} has {} operands and {} results", describe(node),
                         graph_.value_operands(id).size(), node.results.size()),
             "a wait has one operand, the tensor, and one result, its alias", &node);
    }
    // A number that was resolved already is -1; control edges then say what it waits for.
    bool open = node.wait_number >= 0 && node.control.empty();
    if (open && !dependency_numbers_.contains(node.wait_number)) {
      report("wait-unmatched",
             fmt::format("{} has number {}, but no wait_dependency has it", describe(node),
                         node.wait_number),
             "give the wait its wait_dependency of the same number", &node);
    }
  }

  const Graph& graph_;
  std::vector<Diagnostic>& findings_;
  std::vector<bool> made_;  // by buffer
  std::unordered_set<int64_t> dependency_numbers_;
};

}  // namespace

std::vector<Diagnostic> check_graph(const Graph& graph) {
  std::vector<Diagnostic> findings;
  GraphChecker(graph, findings).run();
  return findings;
}

bool has_errors(const std::vector<Diagnostic>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Diagnostic& finding) { return finding.severity == Severity::Error; });
}

}  // namespace anabranch::verify
