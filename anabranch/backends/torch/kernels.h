// The kernel set "aten": every operator that torch has, resolved once and called through the
// dispatcher below autograd.
#pragma once

#include <memory>
#include <vector>

#include "anabranch/backends/torch/plan.h"
#include "anabranch/runtime/kernel.h"

namespace anabranch::torch_backend {

/// Loads one graph. Its values are TorchValues.
class AtenKernels : public KernelSet {
 public:
  /// One tensor per constant of the graph, in order.
  explicit AtenKernels(std::vector<at::Tensor> constants) : constants_(std::move(constants)) {}

  /// Beside what KernelSet says, throws Error ("control-flow", "undefined-symbol",
  /// "bad-constants").
  std::unique_ptr<LoadedKernels> load(const Graph& graph, const MemoryLayout& layout) override;
  std::vector<bool> placeable(const Graph& graph) const override;

  /// How values are laid out, for who binds inputs and takes outputs; after load().
  std::shared_ptr<const ValuePlan> plan() const { return plan_; }

 private:
  std::vector<at::Tensor> constants_;
  std::shared_ptr<const ValuePlan> plan_;
};

}  // namespace anabranch::torch_backend
