// The kernel set "aten": every operator that torch has, resolved once and called through the
// dispatcher below autograd.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "anabranch/backends/torch/plan.h"
#include "anabranch/runtime/kernel.h"
#include "anabranch/runtime/part_runner.h"

namespace anabranch::torch_backend {

/// Loads one graph. Its values are TorchValues.
class AtenKernels : public KernelSet {
 public:
  /// One tensor per constant of the graph, in order. `parts` runs operators that are split, and
  /// must outlive what is loaded; without it none can be. `library`: path of the compiled kernels
  /// that steps of regions call (kernel_library.h); empty for a graph without.
  explicit AtenKernels(std::vector<at::Tensor> constants, PartRunner* parts = nullptr,
                       std::string library = {})
      : constants_(std::move(constants)), parts_(parts), library_(std::move(library)) {}

  /// Beside what KernelSet says, throws Error ("control-flow", "undefined-symbol",
  /// "bad-constants", "bad-step", "kernel-library").
  std::unique_ptr<LoadedKernels> load(const Graph& graph, const MemoryLayout& layout) override;
  std::vector<bool> placeable(const Graph& graph) const override;

  /// How values are laid out, for who binds inputs and takes outputs; after load().
  std::shared_ptr<const ValuePlan> plan() const { return plan_; }

 private:
  std::vector<at::Tensor> constants_;
  PartRunner* parts_;
  std::string library_;
  std::shared_ptr<const ValuePlan> plan_;
};

}  // namespace anabranch::torch_backend
