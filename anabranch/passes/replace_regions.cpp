// Puts steps in the place of regions.
//
// Guarantees: the graph computes what it did when the steps compute what their region does. The
// steps stand where the region's last operator stood; views of what it makes follow them. Memory
// that a step makes is new; what it shows of an input is the same bytes of the real input. Control
// edges of users that named an operator of a region name its last step.
#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "anabranch/base/diagnostic.h"
#include "anabranch/passes/passes.h"
#include "anabranch/passes/regions.h"

namespace anabranch::passes {
namespace {

class Replacer {
 public:
  Replacer(const Graph& old, const std::vector<Region>& regions,
           const std::vector<const Graph*>& steps)
      : old_(old),
        regions_(regions),
        steps_(steps),
        region_of_(old.nodes.size(), kNone),
        new_node_(old.nodes.size()),
        new_value_(old.values.size()) {
    for (size_t r = 0; r < regions.size(); ++r) {
      if (!steps[r]) continue;
      for (NodeId node : regions[r].operators) region_of_[node.index()] = r;
    }
    for (const Node& node : old.nodes) node_names_.insert(node.name);
    for (const Value& value : old.values) value_names_.insert(value.name);
  }

  Graph run() {
    made_.name = old_.name;
    made_.streams = old_.streams;
    made_.buffer_count = old_.buffer_count;
    for (size_t i = 0; i < old_.nodes.size(); ++i) visit(NodeId(i));
    for (const Argument& output : old_.outputs) {
      Argument mapped = output;
      for_each_value(mapped, [&](ValueId& value) { value = at(value); });
      made_.outputs.push_back(std::move(mapped));
    }
    return std::move(made_);
  }

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  [[noreturn]] void fail(size_t region, const std::string& message) const {
    const Node& last = old_.node(regions_[region].operators.back());
    throw Error(Diagnostic{
        Severity::Error,
        "region-steps",
        fmt::format("the steps of the region that ends with {}: {}", describe(last), message),
        "steps must have the inputs and results of their region",
        {last.source}});
  }

  ValueId at(ValueId value) const {
    ValueId known = new_value_[value.index()];
    if (known.valid()) return known;
    throw Error("region-steps", fmt::format("%{} is used outside of its region, which does not "
                                            "return it",
                                            old_.value(value).name));
  }

  void visit(NodeId id) {
    size_t region = region_of_[id.index()];
    const Node& node = old_.node(id);
    // Copied when what it shows is there; what only showed a region's inside never is.
    if (node.kind == NodeKind::View && !is_complete(id)) {
      late_views_.push_back(id);
      return;
    }
    if (region == kNone) return copy(id);
    if (id == regions_[region].operators.back()) emit(region);
  }

  bool is_complete(NodeId id) const {
    for (ValueId value : old_.value_operands(id)) {
      if (!new_value_[value.index()].valid()) return false;
    }
    return true;
  }

  void copy(NodeId id) {
    Node node = old_.node(id);
    std::vector<ValueId> results = std::exchange(node.results, {});
    for (Operand& operand : node.operands) {
      for_each_value(operand.value, [&](ValueId& value) { value = at(value); });
    }
    for (ValueId& value : node.writes) value = at(value);
    for (ValueId& value : node.reads) value = at(value);
    std::erase_if(node.control, [](const ControlEdge& edge) {
      return edge.reason == ControlReason::Effect;  // the effects are ordered again
    });
    for (ControlEdge& edge : node.control) edge.from = new_node_[edge.from.index()];
    NodeId made{made_.nodes.size()};
    new_node_[id.index()] = made;
    made_.add_node(std::move(node));
    for (ValueId value : results) {
      const Value& known = old_.value(value);
      new_value_[value.index()] = made_.add_result(made, known.name, known.type);
    }
  }

  void emit(size_t number) {
    const Region& region = regions_[number];
    const Graph& steps = *steps_[number];
    Copy copied{std::vector<ValueId>(steps.values.size()), {}, number};
    check_outputs(steps, copied);
    size_t input = 0;
    for (size_t i = 0; i < steps.nodes.size(); ++i) {
      const Node& step = steps.nodes[i];
      if (step.kind == NodeKind::Input) {
        if (input == region.inputs.size()) fail(number, "they take more inputs");
        bind_input(steps, step, region.inputs[input++], copied);
      } else if (step.kind == NodeKind::Operator || step.kind == NodeKind::View) {
        add_step(steps, NodeId(i), copied);
      } else {
        fail(number, fmt::format("{} is neither an operator nor a view", describe(step)));
      }
    }
    if (input != region.inputs.size()) fail(number, "they take fewer inputs");
    for (size_t i = 0; i < region.outputs.size(); ++i) {
      const auto& returned = std::get<ValueId>(steps.outputs[i].value);
      new_value_[region.outputs[i].index()] = copied.values[returned.index()];
    }
    if (!made_.nodes.back().launches()) fail(number, "the last one is not launched");
    for (NodeId node : region.operators) new_node_[node.index()] = NodeId(made_.nodes.size() - 1);
    std::vector<NodeId> waiting = std::exchange(late_views_, {});
    for (NodeId view : waiting) visit_late(view);
  }

  void visit_late(NodeId view) {
    if (is_complete(view)) {
      copy(view);
    } else {
      late_views_.push_back(view);
    }
  }

  /// The steps of one region as they get into the graph.
  struct Memory {
    BufferId buffer;
    Expr shift = 0;  // elements from an input of the steps to the real one
  };
  struct Copy {
    std::vector<ValueId> values;  // by ValueId of the steps
    std::unordered_map<BufferId, Memory> memory;
    size_t region = 0;
  };

  static bool same_shape(const TensorType& a, const TensorType& b) {
    return a.dtype == b.dtype && a.sizes == b.sizes && a.strides == b.strides;
  }

  void bind_input(const Graph& steps, const Node& step, ValueId given, Copy& copied) {
    ValueId formal = step.results.at(0);
    const TensorType *type = steps.value(formal).tensor(), *real = old_.value(given).tensor();
    if (!type || !same_shape(*type, *real)) {
      fail(copied.region, fmt::format("input %{} is not like %{}", steps.value(formal).name,
                                      old_.value(given).name));
    }
    copied.values[formal.index()] = at(given);
    Expr shift = real->offset.constant() - type->offset.constant();
    if (!copied.memory.try_emplace(type->buffer, Memory{real->buffer, shift}).second)
      fail(copied.region, "an input shares memory with another one or with a result");
  }

  void add_step(const Graph& steps, NodeId id, Copy& copied) {
    const Node& last = old_.node(regions_[copied.region].operators.back());
    Node step = steps.node(id);
    std::vector<ValueId> results = std::exchange(step.results, {});
    auto map = [&](ValueId& value) { value = copied.values[value.index()]; };
    for (Operand& operand : step.operands) for_each_value(operand.value, map);
    for (ValueId& value : step.writes) map(value);
    step.control.clear();
    step.name = fresh(last.name, step.name, node_names_);
    step.stream = last.stream;
    for (const auto& [key, value] : last.attributes) step.attributes.emplace(key, value);
    step.source = last.source;
    NodeId made{made_.nodes.size()};
    made_.add_node(std::move(step));
    for (ValueId value : results) {
      const Value& known = steps.value(value);
      if (!known.tensor()) fail(copied.region, fmt::format("%{} is no tensor", known.name));
      TensorType type = *known.tensor();
      auto [entry, added] = copied.memory.try_emplace(type.buffer);
      if (added) entry->second.buffer = BufferId(made_.buffer_count);
      type.buffer = entry->second.buffer;
      type.offset = type.offset.constant() + entry->second.shift.constant();
      copied.values[value.index()] =
          made_.add_result(made, fresh(last.name, known.name, value_names_), type);
    }
  }

  /// What is returned keeps the buffer of the result that it stands for, since views name it. That
  /// is memory of its own, as the operator's result has: who writes to it writes to nothing else.
  void check_outputs(const Graph& steps, Copy& copied) {
    const std::vector<ValueId>& wanted = regions_[copied.region].outputs;
    if (steps.outputs.size() != wanted.size()) fail(copied.region, "they return another number");
    for (size_t i = 0; i < wanted.size(); ++i) {
      const auto* given = std::get_if<ValueId>(&steps.outputs[i].value);
      const TensorType* type = given ? steps.value(*given).tensor() : nullptr;
      const Value& result = old_.value(wanted[i]);
      bool fits = type && same_shape(*type, *result.tensor()) && type->offset.constant() == 0 &&
                  steps.producer(*given).kind == NodeKind::Operator;
      if (!fits ||
          !copied.memory.try_emplace(type->buffer, Memory{result.tensor()->buffer, 0}).second)
        fail(copied.region, fmt::format("result {} is not like %{}", i, result.name));
    }
  }

  static std::string fresh(const std::string& prefix, const std::string& name,
                           std::unordered_set<std::string>& taken) {
    std::string made = fmt::format("{}.{}", prefix, name);
    while (!taken.insert(made).second) made += "_";
    return made;
  }

  const Graph& old_;
  const std::vector<Region>& regions_;
  const std::vector<const Graph*>& steps_;
  std::vector<size_t> region_of_;  // by NodeId
  std::vector<NodeId> new_node_;   // by NodeId
  std::vector<ValueId> new_value_;
  std::vector<NodeId> late_views_;
  std::unordered_set<std::string> node_names_, value_names_;
  Graph made_;
};

}  // namespace

void replace_regions(Graph& graph, const std::vector<Region>& regions,
                     const std::vector<const Graph*>& steps) {
  graph = Replacer(graph, regions, steps).run();
  order_effects(graph);
}

}  // namespace anabranch::passes
