// Proves that a pass changed nothing but the order of the operators, and no order that matters.
//
// Names are what the two graphs have in common. The order itself is checked by reading the new one
// as a schedule of the old graph on one stream: every hazard of the old graph then has to be kept.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "anabranch/verify/verify.h"

namespace anabranch::verify {
namespace {

class ReorderChecker {
 public:
  ReorderChecker(const Graph& before, const Graph& after, std::vector<Diagnostic>& findings)
      : before_(before), after_(after), findings_(findings) {}

  void run() {
    if (!match_nodes() || !match_values()) return;
    bool same = before_.streams == after_.streams && before_.buffer_count == after_.buffer_count &&
                same_arguments(before_.outputs, after_.outputs);
    if (!same) report("reorder-nodes", "the results, streams or buffers changed", nullptr);
    for (size_t i = 0; i < after_.nodes.size(); ++i) check_node(i);
    check_inputs();
    if (!has_errors(findings_)) check_order();
  }

 private:
  void report(const char* rule, std::string message, const Node* node) {
    std::vector<SourceLocation> where;
    if (node && node->source.known()) where.push_back(node->source);
    findings_.push_back({Severity::Error, rule, std::move(message),
                         "change the order of the operators only", std::move(where)});
  }

  bool match_nodes() {
    std::unordered_map<std::string_view, NodeId> by_name;
    for (size_t i = 0; i < before_.nodes.size(); ++i) by_name[before_.nodes[i].name] = NodeId(i);
    std::vector<bool> seen(before_.nodes.size(), false);
    for (const Node& node : after_.nodes) {
      auto found = by_name.find(node.name);
      if (found == by_name.end() || seen[found->second.index()]) {
        report("reorder-nodes", describe(node) + " is new", &node);
        return false;
      }
      seen[found->second.index()] = true;
      old_.push_back(found->second);
    }
    if (old_.size() == before_.nodes.size()) return true;
    report("reorder-nodes", "an operator is gone", nullptr);
    return false;
  }

  bool match_values() {
    std::unordered_map<std::string_view, ValueId> by_name;
    for (size_t i = 0; i < before_.values.size(); ++i) by_name[before_.values[i].name] = ValueId(i);
    for (const Value& value : after_.values) {
      auto found = by_name.find(value.name);
      bool same = found != by_name.end() && before_.value(found->second).type == value.type &&
                  before_.value(found->second).producer == old_[value.producer.index()];
      if (!same) {
        report("reorder-nodes", fmt::format("%{} is new or changed", value.name), nullptr);
        return false;
      }
      old_value_.push_back(found->second);
    }
    if (old_value_.size() == before_.values.size()) return true;
    report("reorder-nodes", "a result is gone", nullptr);
    return false;
  }

  bool same_values(const std::vector<ValueId>& before, const std::vector<ValueId>& after) const {
    return std::equal(before.begin(), before.end(), after.begin(), after.end(),
                      [&](ValueId a, ValueId b) { return a == old_value_[b.index()]; });
  }

  bool same_arguments(const ArgumentList& before, ArgumentList after) const {
    for (Argument& argument : after) {
      for_each_value(argument, [&](ValueId& value) { value = old_value_[value.index()]; });
    }
    return before == after;
  }

  void check_node(size_t index) {
    const Node& after = after_.nodes[index];
    const Node& before = before_.node(old_[index]);
    std::vector<Operand> operands = after.operands;
    for (Operand& operand : operands) {
      for_each_value(operand.value, [&](ValueId& value) { value = old_value_[value.index()]; });
    }
    std::vector<ControlEdge> control = after.control;
    for (ControlEdge& edge : control) edge.from = old_[edge.from.index()];
    bool same = before.op == after.op && before.kind == after.kind && before.operands == operands &&
                before.control == control && before.effects == after.effects &&
                before.bodies == after.bodies && before.attributes == after.attributes &&
                before.stream == after.stream && before.source == after.source &&
                before.wait_number == after.wait_number &&
                same_values(before.results, after.results) &&
                same_values(before.writes, after.writes) && same_values(before.reads, after.reads);
    if (!same) report("reorder-nodes", describe(after) + " is not what it was", &after);
  }

  /// A call binds inputs and constants by their order.
  void check_inputs() {
    NodeId last_input, last_constant;
    for (size_t i = 0; i < after_.nodes.size(); ++i) {
      NodeKind kind = after_.nodes[i].kind;
      if (kind != NodeKind::Input && kind != NodeKind::Constant) continue;
      NodeId& last = kind == NodeKind::Input ? last_input : last_constant;
      if (last.valid() && old_[i] < last) {
        report("reorder-inputs", describe(after_.nodes[i]) + " changed its place",
               &after_.nodes[i]);
      }
      last = old_[i];
    }
  }

  void check_order() {
    Schedule order;
    order.streams.push_back({Stream{}, {}});
    for (size_t i = 0; i < after_.nodes.size(); ++i) {
      if (after_.nodes[i].launches()) order.streams[0].commands.push_back(Launch{old_[i]});
    }
    std::vector<Diagnostic> found = check_schedule(before_, order);
    findings_.insert(findings_.end(), found.begin(), found.end());
  }

  const Graph& before_;
  const Graph& after_;
  std::vector<Diagnostic>& findings_;
  std::vector<NodeId> old_;         // by node of `after`
  std::vector<ValueId> old_value_;  // by value of `after`
};

}  // namespace

std::vector<Diagnostic> check_reordered(const Graph& before, const Graph& after) {
  std::vector<Diagnostic> findings;
  ReorderChecker(before, after, findings).run();
  return findings;
}

}  // namespace anabranch::verify
