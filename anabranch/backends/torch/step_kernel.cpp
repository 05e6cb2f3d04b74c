#include "anabranch/backends/torch/step_kernel.h"

#include <c10/util/SmallVector.h>
#include <fmt/format.h>

#include "anabranch/base/diagnostic.h"
#include "anabranch/ir/step.h"

namespace anabranch::torch_backend {
namespace {

/// The operands of a kernel step, or nullptr for what does not have its form.
template <class T>
const T* operand_as(const Node& node, size_t position) {
  if (position >= node.operands.size()) return nullptr;
  return std::get_if<T>(&node.operands[position].value.value);
}

[[noreturn]] void fail(const Node& node, const char* what) {
  throw Error("bad-step", fmt::format("{}: {}", describe(node), what),
              R"(the form is anabranch.kernel("symbol", [values], [blocks]))");
}

}  // namespace

StepKernel::StepKernel(const Graph& graph, NodeId id, const KernelLibrary& library,
                       PackedWeights& weights)
    : results_(graph.node(id).results) {
  const Node& node = graph.node(id);
  if (node.op == step::kBuffer) return;
  const auto* symbol = operand_as<std::string>(node, 0);
  const auto* values = operand_as<ArgumentList>(node, 1);
  const auto* blocks = operand_as<ArgumentList>(node, 2);
  if (!symbol || !values || !blocks || values->size() != blocks->size())
    fail(node, "its operands are not a symbol, values and as many blocks");
  function_ = library.find(*symbol);
  for (size_t i = 0; i < values->size(); ++i) {
    const auto* value = std::get_if<ValueId>(&(*values)[i].value);
    const auto* block = std::get_if<int64_t>(&(*blocks)[i].value);
    if (!value || !graph.value(*value).tensor() || !block) fail(node, "an operand is no tensor");
    Operand operand{*value};
    if (*block > 0) {
      if (graph.value(*value).tensor()->sizes.size() != 2) fail(node, "it packs what is no matrix");
      std::unique_ptr<PackedWeight>& weight = weights[{*value, *block}];
      if (!weight) weight = std::make_unique<PackedWeight>(*block);
      operand.packed = weight.get();
    }
    operands_.push_back(operand);
  }
}

at::Tensor StepKernel::fetch(const Operand& operand, const TorchValues& values) const {
  at::Tensor tensor = values.tensor(operand.value);
  if (!operand.packed) return tensor;
  const ValuePlan& plan = values.plan();
  const ValuePlan::Root& root = plan.roots()[plan.place(operand.value).root];
  bool lasts = root.origin != ValuePlan::Origin::Result && !root.written;
  return lasts ? operand.packed->get(tensor, values.owner(operand.value))
               : operand.packed->pack(tensor);
}

void StepKernel::run(TorchValues& values) const {
  c10::SmallVector<at::Tensor, 16> kept;
  c10::SmallVector<void*, 16> memory;
  for (const Operand& operand : operands_) {
    kept.push_back(fetch(operand, values));
    memory.push_back(const_cast<void*>(kept.back().const_data_ptr()));
  }
  for (ValueId result : results_) {
    kept.push_back(values.destination(result));
    memory.push_back(kept.back().data_ptr());
  }
  if (function_) function_(memory.data());
}

}  // namespace anabranch::torch_backend
