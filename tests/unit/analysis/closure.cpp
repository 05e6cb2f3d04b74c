#include "tests/unit/analysis/closure.h"

#include "anabranch/ir/uses.h"

namespace anabranch::testing_support {

void close(Relation& relation) {
  size_t n = relation.size();
  for (size_t k = 0; k < n; ++k) {
    for (size_t i = 0; i < n; ++i) {
      if (!relation[i][k]) continue;
      for (size_t j = 0; j < n; ++j) {
        if (relation[k][j]) relation[i][j] = true;
      }
    }
  }
}

namespace {

Relation empty(size_t n) { return Relation(n, std::vector<bool>(n, false)); }

}  // namespace

Relation schedule_order(const Graph& graph, const Schedule& schedule) {
  // Points are operators first, then events. A record is a point after the launches before it.
  size_t operators = graph.nodes.size();
  Relation order = empty(operators + schedule.event_count);
  for (const StreamProgram& program : schedule.streams) {
    std::vector<size_t> before;  // launches and waits so far
    for (const Command& command : program.commands) {
      if (const auto* wait = std::get_if<Wait>(&command)) {
        before.push_back(operators + wait->event.index());
        continue;
      }
      const auto* launch = std::get_if<Launch>(&command);
      size_t point =
          launch ? launch->node.index() : operators + std::get<Record>(command).event.index();
      for (size_t earlier : before) order[earlier][point] = true;
      if (launch) before.push_back(point);
    }
  }
  close(order);
  order.resize(operators);
  for (auto& row : order) row.resize(operators);
  return order;
}

namespace {

void add_sources(const Graph& graph, NodeId node, std::vector<bool>& sources) {
  for (ValueId value : graph.value_operands(node)) {
    NodeId producer = graph.value(value).producer;
    if (graph.node(producer).launches()) {
      sources[producer.index()] = true;
    } else {
      add_sources(graph, producer, sources);
    }
  }
}

}  // namespace

Relation required_edges(const Graph& graph) {
  Relation required = empty(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!graph.nodes[i].launches()) continue;
    std::vector<bool> sources(graph.nodes.size(), false);
    add_sources(graph, NodeId(i), sources);
    for (const ControlEdge& edge : graph.nodes[i].control) {
      if (graph.node(edge.from).launches()) sources[edge.from.index()] = true;
    }
    for (size_t from = 0; from < sources.size(); ++from) required[from][i] = sources[from];
  }
  return required;
}

Relation hazards(const Graph& graph) {
  Relation pairs = required_edges(graph);
  UseTable uses(graph);
  for (size_t a = 0; a < pairs.size(); ++a) {
    for (size_t b = a + 1; b < pairs.size(); ++b) {
      for (const Use& first : uses.of(NodeId(a))) {
        for (const Use& second : uses.of(NodeId(b))) {
          if (conflicts(first, second)) pairs[a][b] = true;
        }
      }
    }
  }
  return pairs;
}

bool keeps_hazards(const Graph& graph, const Relation& order) {
  Relation pairs = hazards(graph);
  for (size_t a = 0; a < pairs.size(); ++a) {
    for (size_t b = 0; b < pairs.size(); ++b) {
      if (pairs[a][b] && !order[a][b]) return false;
    }
  }
  return true;
}

std::vector<NodeId> users(const Graph& graph, BufferId buffer) {
  UseTable uses(graph);
  std::vector<NodeId> found;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    bool touches = false;
    for (const Use& use : uses.of(NodeId(i))) touches = touches || use.buffer == buffer;
    if (graph.nodes[i].kind == NodeKind::Wait) {
      const TensorType* type = graph.value(graph.nodes[i].results[0]).tensor();
      touches = touches || (type && type->buffer == buffer);
    }
    if (touches) found.push_back(NodeId(i));
  }
  return found;
}

}  // namespace anabranch::testing_support
