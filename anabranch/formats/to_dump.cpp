#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "anabranch/formats/convert.h"
#include "anabranch/formats/ge_types.h"
#include "anabranch/ir/text.h"

namespace anabranch::formats {
namespace {

class DumpBuilder {
 public:
  explicit DumpBuilder(const Graph& graph) : graph_(graph) {}

  DumpGraph build() {
    dump_.name = graph_.name;
    name_of_node_.resize(graph_.nodes.size());
    root_of_buffer_.assign(graph_.buffer_count, ValueId{});
    reserve_data_names();
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (node.kind != NodeKind::Size && node.kind != NodeKind::WaitDependency) add(NodeId(i));
    }
    add_outputs();
    return std::move(dump_);
  }

 private:
  // Placeholders keep their names whatever the operators before them are called.
  void reserve_data_names() {
    for (const Node& node : graph_.nodes) {
      if (node.kind == NodeKind::Input) names_.insert(node.name);
    }
  }

  static std::string type_of(const Node& node) {
    switch (node.kind) {
      case NodeKind::Input: return "Data";
      case NodeKind::Constant: return "Const";
      case NodeKind::Wait: return "Identity";
      default: return ge_type(node.op);
    }
  }

  std::string fresh_name(const std::string& type) {
    size_t& count = type_counts_[type];
    std::string name;
    do {
      name = count == 0 ? type : fmt::format("{}_{}", type, count);
      ++count;
    } while (!names_.insert(name).second);
    return name;
  }

  void add(NodeId id) {
    const Node& node = graph_.node(id);
    DumpOp op;
    op.type = type_of(node);
    op.name = node.kind == NodeKind::Input ? node.name : fresh_name(op.type);
    op.attributes = node.attributes;
    name_of_node_[id.index()] = op.name;
    bool data = node.kind == NodeKind::Input || node.kind == NodeKind::Constant;
    if (data) {
      for (std::string_view key :
           {anabranch::keys::kStreamLabel, anabranch::keys::kStreamPriority,
            anabranch::keys::kInnerParallel, anabranch::keys::kAssignedStream}) {
        op.attributes.erase(std::string(key));
      }
    } else if (node.stream != kDefaultStream) {
      op.attributes.emplace(anabranch::keys::kAssignedStream,
                            graph_.streams[node.stream.index()].label);
    }
    add_operands(node, op);
    add_control(node, op);
    add_facts(node, op);
    add_results(id, op);
    dump_.ops.push_back(std::move(op));
  }

  // Values computed from sizes alone are no operators: their users show them as literals.
  bool in_dump(ValueId value) const { return !name_of(value).empty(); }

  const std::string& name_of(ValueId value) const {
    return name_of_node_[graph_.value(value).producer.index()];
  }

  DumpInput input_of(ValueId value) const {
    return {name_of(value), static_cast<int64_t>(graph_.value(value).result_index)};
  }

  DumpTensor descriptor(const std::string& name, const Type& type) const {
    DumpTensor tensor{name, "DT_INT64", {}, "ND", "CPU", {}};
    if (const auto* view = std::get_if<TensorType>(&type)) {
      tensor.dtype = ge_dtype(view->dtype);
      tensor.device_type = "NPU";
      for (const Expr& size : view->sizes)
        tensor.shape.push_back(size.is_constant() ? size.constant() : -1);
    }
    return tensor;
  }

  void add_operands(const Node& node, DumpOp& op) {
    std::vector<ValueId> inputs;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const Operand& operand = node.operands[i];
      size_t first = inputs.size();
      for_each_value(operand.value, [&](ValueId value) {
        if (in_dump(value)) inputs.push_back(value);
      });
      add_literal(operand, i, first, inputs.size(), op);
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      op.inputs.push_back(input_of(inputs[i]));
      op.input_descs.push_back(descriptor(fmt::format("x{}", i), graph_.value(inputs[i]).type));
    }
    std::vector<int64_t> written;
    for (ValueId value : node.writes) {
      auto found = std::find(inputs.begin(), inputs.end(), value);
      if (found != inputs.end()) written.push_back(found - inputs.begin());
    }
    if (!written.empty()) op.attributes[std::string(anabranch::keys::kWrites)] = written;
  }

  // A literal operand becomes an attribute under its keyword or position.
  void add_literal(const Operand& operand, size_t position, size_t first, size_t last, DumpOp& op) {
    bool single_value = std::holds_alternative<ValueId>(operand.value.value);
    if (single_value && last > first) return;
    if (std::holds_alternative<None>(operand.value.value)) return;
    const auto* list = std::get_if<ArgumentList>(&operand.value.value);
    if (list && list->size() == last - first && last > first) return;  // values only
    std::string key = operand.name.empty() ? fmt::format("_arg{}", position) : operand.name;
    if (op.attributes.count(key) > 0) key = fmt::format("_arg{}", position);
    op.attributes.emplace(key, literal(operand.value, first));
  }

  Attribute literal(const Argument& argument, size_t first_input) const {
    if (const auto* value = std::get_if<bool>(&argument.value)) return *value;
    if (const auto* value = std::get_if<int64_t>(&argument.value)) return *value;
    if (const auto* value = std::get_if<double>(&argument.value)) return *value;
    if (const auto* value = std::get_if<std::string>(&argument.value)) return *value;
    if (const auto* list = std::get_if<ArgumentList>(&argument.value)) {
      if (auto integers = list_of<int64_t>(*list)) return *integers;
      if (auto strings = list_of<std::string>(*list)) return *strings;
    }
    size_t next_input = first_input;
    return text(argument, next_input);
  }

  template <class T>
  static std::optional<std::vector<T>> list_of(const ArgumentList& list) {
    std::vector<T> items;
    for (const Argument& item : list) {
      const T* value = std::get_if<T>(&item.value);
      if (!value) return std::nullopt;
      items.push_back(*value);
    }
    return items;
  }

  // As in graph text, but a value shows as the input that carries it.
  std::string text(const Argument& argument, size_t& next_input) const {
    if (const auto* value = std::get_if<ValueId>(&argument.value)) {
      if (in_dump(*value)) return fmt::format("input {}", next_input++);
      const HostType* host = graph_.value(*value).host();
      return host ? to_string(host->value) : graph_.value(*value).name;
    }
    if (const auto* list = std::get_if<ArgumentList>(&argument.value)) {
      std::string items;
      for (const Argument& item : *list) {
        if (!items.empty()) items += ", ";
        items += text(item, next_input);
      }
      return fmt::format("[{}]", items);
    }
    if (const auto* expr = std::get_if<Expr>(&argument.value)) return to_string(*expr);
    return print_argument(argument);
  }

  static std::string print_argument(const Argument& argument) {
    struct Visitor {
      std::string operator()(None) const { return "none"; }
      std::string operator()(bool v) const { return v ? "true" : "false"; }
      std::string operator()(int64_t v) const { return std::to_string(v); }
      std::string operator()(double v) const { return print_real(v); }
      std::string operator()(const std::complex<double>& v) const {
        return fmt::format("complex({}, {})", print_real(v.real()), print_real(v.imag()));
      }
      std::string operator()(const std::string& v) const { return v; }
      std::string operator()(DType v) const { return std::string(to_string(v)); }
      std::string operator()(const Keyword& v) const { return v.name; }
      // Handled by text().
      std::string operator()(ValueId) const { return {}; }
      std::string operator()(const Expr&) const { return {}; }
      std::string operator()(const ArgumentList&) const { return {}; }
    };
    return std::visit(Visitor{}, argument.value);
  }

  void add_control(const Node& node, DumpOp& op) {
    std::vector<NodeId> sources;
    for (const ControlEdge& edge : node.control) sources.push_back(edge.from);
    if (node.kind == NodeKind::Wait && sources.empty()) {
      for (const Node& other : graph_.nodes) {  // a graph straight from capture: waits not resolved
        if (other.kind != NodeKind::WaitDependency || other.wait_number != node.wait_number)
          continue;
        for (const Operand& operand : other.operands) {
          for_each_value(operand.value,
                         [&](ValueId v) { sources.push_back(graph_.value(v).producer); });
        }
      }
    }
    for (NodeId source : sources) {
      const std::string& name = name_of_node_[source.index()];
      if (name.empty()) continue;
      DumpInput input{name, -1};
      if (std::find(op.inputs.begin(), op.inputs.end(), input) == op.inputs.end())
        op.inputs.push_back(input);
    }
  }

  static void add_facts(const Node& node, DumpOp& op) {
    std::vector<std::string> effects;
    for (const Effect& effect : node.effects) {
      effects.push_back(fmt::format("{} {}", to_string(effect.kind), effect.resource));
    }
    if (!effects.empty()) op.attributes[std::string(keys::kEffects)] = effects;
    if (node.source.known()) op.attributes[std::string(keys::kSource)] = to_string(node.source);
    for (size_t i = 0; i < node.bodies.size(); ++i) {
      op.attributes[fmt::format("_anabranch_body{}", i)] = print_graph(*node.bodies[i]);
    }
  }

  void add_results(NodeId id, DumpOp& op) {
    const Node& node = graph_.node(id);
    std::vector<std::string> memory;
    bool needed = false;
    for (size_t i = 0; i < node.results.size(); ++i) {
      ValueId value = node.results[i];
      std::string name = node.results.size() == 1 ? "y" : fmt::format("y{}", i);
      op.output_descs.push_back(descriptor(name, graph_.value(value).type));
      memory.push_back(memory_of(node, i));
      needed |= !memory.back().empty();
      const TensorType* type = graph_.value(value).tensor();
      if (type && !root_of_buffer_[type->buffer.index()].valid())
        root_of_buffer_[type->buffer.index()] = value;
    }
    if (needed) op.attributes[std::string(keys::kMemory)] = memory;
  }

  // Empty when from_dump finds the type by itself: a dense tensor of its own, the operand that a
  // writing operator returns, the alias that a wait is.
  std::string memory_of(const Node& node, size_t index) const {
    const Value& value = graph_.value(node.results[index]);
    const TensorType* type = value.tensor();
    if (!type) return to_string(value.type);
    if (const TensorType* source = implied(node, index); source && *source == *type) return "";
    ValueId root = root_of_buffer_[type->buffer.index()];
    if (root.valid()) {
      DumpInput input = input_of(root);
      return fmt::format("{} {} {}:{}", to_string(value.type),
                         node.kind == NodeKind::View ? "view of" : "in", input.producer,
                         input.index);
    }
    bool dense = type->is_static() && type->strides == contiguous_strides(type->sizes) &&
                 type->offset == Expr(0) && !type->conjugate && !type->negative &&
                 from_ge_dtype(ge_dtype(type->dtype)).has_value() && !implied(node, index);
    return dense ? "" : to_string(value.type);
  }

  const TensorType* implied(const Node& node, size_t index) const {
    if (node.kind == NodeKind::Wait && index == 0) {
      std::vector<ValueId> values;
      for (const Operand& operand : node.operands) {
        for_each_value(operand.value, [&](ValueId v) { values.push_back(v); });
      }
      return values.empty() ? nullptr : graph_.value(values[0]).tensor();
    }
    if (node.kind == NodeKind::Operator && index < node.writes.size()) {
      return graph_.value(node.writes[index]).tensor();
    }
    return nullptr;
  }

  void add_outputs() {
    DumpOp op;
    op.name = fresh_name("NetOutput");
    op.type = "NetOutput";
    for (const Argument& output : graph_.outputs) {
      const auto* value = std::get_if<ValueId>(&output.value);
      if (!value || !in_dump(*value)) {
        op.inputs.push_back({});  // none, or a size: keeps its position
        continue;
      }
      op.inputs.push_back(input_of(*value));
      op.input_descs.push_back(
          descriptor(fmt::format("x{}", op.inputs.size() - 1), graph_.value(*value).type));
    }
    dump_.ops.push_back(std::move(op));
  }

  const Graph& graph_;
  DumpGraph dump_;
  std::vector<std::string> name_of_node_;  // empty for what is no operator of the dump
  std::vector<ValueId> root_of_buffer_;
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, size_t> type_counts_;
};

}  // namespace

DumpGraph to_dump(const Graph& graph) { return DumpBuilder(graph).build(); }

}  // namespace anabranch::formats
