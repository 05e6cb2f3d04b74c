// The steps of regions (ir/step.h) as kernels on the memory of a call.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "anabranch/backends/torch/kernel_library.h"
#include "anabranch/backends/torch/packed_weight.h"
#include "anabranch/backends/torch/values.h"
#include "anabranch/ir/graph.h"

namespace anabranch::torch_backend {

/// The packed weights of a program, by value and block: kernels that want the same one share it.
using PackedWeights = std::map<std::pair<ValueId, int64_t>, std::unique_ptr<PackedWeight>>;

/// Immutable after construction; thread-safe.
class StepKernel {
 public:
  /// Adds the packed weights that it wants. Throws Error ("bad-step", "kernel-library").
  StepKernel(const Graph& graph, NodeId node, const KernelLibrary& library, PackedWeights& weights);

  void run(TorchValues& values) const;

 private:
  struct Operand {
    ValueId value;
    PackedWeight* packed = nullptr;
  };
  at::Tensor fetch(const Operand& operand, const TorchValues& values) const;

  KernelLibrary::Function function_ = nullptr;  // of a buffer: null
  std::vector<Operand> operands_;
  std::vector<ValueId> results_;
};

}  // namespace anabranch::torch_backend
