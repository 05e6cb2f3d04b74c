// Orders what data edges do not show: mutations behind views and aliases, random generators,
// process groups, output.
//
// Guarantees: data edges ∪ control edges order every two conflicting uses as the program does. An
// edge that a data edge, a control edge or a chain of aliases gives already is not added.
#include <algorithm>

#include "anabranch/analysis/memory_history.h"
#include "anabranch/ir/operands.h"
#include "anabranch/passes/dependencies.h"
#include "anabranch/passes/passes.h"

namespace anabranch::passes {

void order_effects(Graph& graph) {
  UseTable uses(graph);
  MemoryHistory history(graph, uses);
  Dependencies dependencies(graph);
  std::vector<NodeId> origin = origins(graph);
  std::vector<NodeId> found, before;
  std::vector<ValueId> operands;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    NodeId id(i);
    before.clear();
    operands.clear();
    for_each_operand(graph, id, [&](ValueId value) { operands.push_back(value); });
    for (const Use& use : uses.of(id)) {
      found.clear();
      history.append_conflicts(use, found);
      // An operand, also one behind an alias such as a wait, brings a data edge from its origin.
      bool operand = std::find(operands.begin(), operands.end(), use.value) != operands.end();
      NodeId known = operand ? origin[use.value.index()] : NodeId{};
      for (NodeId earlier : found) {
        if (earlier != known && earlier != id) before.push_back(earlier);
      }
    }
    history.record(id);
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    auto direct = dependencies.of(id);
    auto by_node = [](const Dependency& d, NodeId node) { return d.from < node; };
    for (NodeId earlier : before) {
      auto edge = std::lower_bound(direct.begin(), direct.end(), earlier, by_node);
      if (edge != direct.end() && edge->from == earlier) continue;
      graph.nodes[i].control.push_back({earlier, ControlReason::Effect});
    }
  }
}

}  // namespace anabranch::passes
