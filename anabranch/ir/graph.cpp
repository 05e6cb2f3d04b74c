#include "anabranch/ir/graph.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "anabranch/ir/renumber.h"

namespace anabranch {

std::string_view to_string(EffectKind kind) {
  switch (kind) {
    case EffectKind::Random: return "random";
    case EffectKind::Collective: return "collective";
    case EffectKind::Io: return "io";
  }
  return "io";
}

std::string print_real(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

Node& Graph::add_node(Node node) {
  nodes.push_back(std::move(node));
  return nodes.back();
}

ValueId Graph::add_result(NodeId id, std::string value_name, Type type) {
  Node& owner = node(id);
  ValueId value{values.size()};
  if (const auto* tensor = std::get_if<TensorType>(&type)) {
    buffer_count = std::max(buffer_count, tensor->buffer.index() + 1);
  }
  values.push_back(Value{std::move(value_name), id, owner.results.size(), std::move(type)});
  owner.results.push_back(value);
  return value;
}

void Graph::erase_nodes(const std::vector<bool>& erased) {
  std::vector<NodeId> new_node(nodes.size());
  std::vector<ValueId> new_value(values.size());
  size_t kept = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (erased[i]) continue;
    new_node[i] = NodeId(kept);
    if (kept != i) nodes[kept] = std::move(nodes[i]);
    ++kept;
  }
  nodes.resize(kept);
  kept = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!new_node[values[i].producer.index()].valid()) continue;
    new_value[i] = ValueId(kept);
    if (kept != i) values[kept] = std::move(values[i]);
    values[kept].producer = new_node[values[kept].producer.index()];
    ++kept;
  }
  values.resize(kept);
  renumber(*this, new_node, new_value);
}

std::vector<ValueId> Graph::value_operands(NodeId id) const {
  std::vector<ValueId> read;
  for (const Operand& operand : node(id).operands) {
    for_each_value(operand.value, [&](ValueId value) { read.push_back(value); });
  }
  return read;
}

std::string describe(const Node& node) { return fmt::format("{} ({})", node.name, node.op); }

std::string describe(const Stream& stream) {
  if (stream.label.empty()) return "the default stream";
  return fmt::format("stream \"{}\"", stream.label);
}

}  // namespace anabranch
