#include "anabranch/ir/renumber.h"

#include <algorithm>
#include <utility>

namespace anabranch {

void renumber(Graph& graph, const std::vector<NodeId>& new_node,
              const std::vector<ValueId>& new_value) {
  auto to_new = [&](ValueId& value) { value = new_value[value.index()]; };
  for (Node& node : graph.nodes) {
    for (Operand& operand : node.operands) for_each_value(operand.value, to_new);
    for (ValueId& value : node.results) to_new(value);
    for (ValueId& value : node.writes) to_new(value);
    for (ValueId& value : node.reads) to_new(value);
    for (ControlEdge& edge : node.control) edge.from = new_node[edge.from.index()];
  }
  for (Argument& output : graph.outputs) for_each_value(output, to_new);
}

void reorder(Graph& graph, const std::vector<NodeId>& order) {
  std::vector<NodeId> new_node(graph.nodes.size());
  std::vector<Node> nodes;
  nodes.reserve(graph.nodes.size());
  for (size_t i = 0; i < order.size(); ++i) {
    new_node[order[i].index()] = NodeId(i);
    nodes.push_back(std::move(graph.node(order[i])));
  }
  graph.nodes = std::move(nodes);
  std::vector<ValueId> value_order;
  value_order.reserve(graph.values.size());
  for (size_t i = 0; i < graph.values.size(); ++i) value_order.emplace_back(i);
  std::stable_sort(value_order.begin(), value_order.end(), [&](ValueId a, ValueId b) {
    return new_node[graph.value(a).producer.index()] < new_node[graph.value(b).producer.index()];
  });
  std::vector<ValueId> new_value(graph.values.size());
  std::vector<Value> values;
  values.reserve(graph.values.size());
  for (size_t i = 0; i < value_order.size(); ++i) {
    new_value[value_order[i].index()] = ValueId(i);
    values.push_back(std::move(graph.value(value_order[i])));
    values.back().producer = new_node[values.back().producer.index()];
  }
  graph.values = std::move(values);
  renumber(graph, new_node, new_value);
}

}  // namespace anabranch
