#include "anabranch/torch_ops/plan_class.h"

#include <nlohmann/json.hpp>

#include "anabranch/ir/text.h"

namespace anabranch::torch_ops {
namespace {

Draft take(std::optional<Draft>& draft) {
  if (!draft) throw Error("plan-finished", "finish() was called before", "make a new plan");
  Draft taken = std::move(*draft);
  draft.reset();
  return taken;
}

}  // namespace

PlanClass::PlanClass(const std::string& graph_text, const std::string& options,
                     std::vector<at::Tensor> constants, std::vector<std::string> alone,
                     std::vector<std::string> with_others, std::vector<std::string> by_itself)
    : draft_(make_draft({graph_text, options, std::move(constants)},
                        {std::move(alone), std::move(with_others), std::move(by_itself)})) {}

std::string PlanClass::regions() const {
  std::lock_guard lock(mutex_);
  nlohmann::json list = nlohmann::json::array();
  if (!draft_) return list.dump();
  const Graph& graph = draft_->plan.compiled.graph;
  auto values = [&](const std::vector<ValueId>& ids) {
    nlohmann::json names = nlohmann::json::array();
    for (ValueId id : ids) names.push_back(graph.value(id).name);
    return names;
  };
  for (const passes::Region& region : draft_->plan.regions) {
    nlohmann::json operators = nlohmann::json::array();
    for (NodeId id : region.operators) operators.push_back(graph.node(id).name);
    list.push_back({{"operators", std::move(operators)},
                    {"inputs", values(region.inputs)},
                    {"outputs", values(region.outputs)}});
  }
  return list.dump();
}

c10::intrusive_ptr<ProgramClass> PlanClass::finish(const std::vector<std::string>& graphs,
                                                   const std::vector<int64_t>& of_region,
                                                   const std::string& library) {
  passes::RegionSteps steps;
  for (const std::string& text : graphs) steps.graphs.push_back(parse_graph(text));
  for (int64_t index : of_region) {
    steps.of_region.push_back(index < 0 ? passes::RegionSteps::kKeep : static_cast<size_t>(index));
  }
  std::lock_guard lock(mutex_);
  return c10::make_intrusive<ProgramClass>(take(draft_), std::move(steps), library);
}

}  // namespace anabranch::torch_ops
