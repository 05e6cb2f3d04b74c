// Products of few rows, cut by columns of the result.
//
// A product of few rows reads its weights once and does little else. With up to eight MKL keeps it
// on one thread (or gives two threads little), while one thread alone does not use the whole memory
// bandwidth: parts of one thread each, every one with its own columns of the weights, take about
// half of the time. The parts write into the result in place.
//
// The bits of a part's columns may differ from those of the whole product, because MKL chooses its
// kernel by the width: an operator is split only if tune is not "off".
#pragma once

#include <ATen/core/TensorBody.h>

#include <optional>

#include "anabranch/backends/torch/bind.h"
#include "anabranch/ir/graph.h"
#include "anabranch/runtime/part_runner.h"

namespace anabranch::torch_backend {

/// Immutable; thread-safe.
class SplitProduct {
 public:
  /// Of aten.mm and aten.addmm in f32 with known sizes, at most 64 rows, and weights that are worth
  /// it; else nothing, as on a torch without MKL. Whether it pays is for a measurement to say.
  static std::optional<SplitProduct> of(const Graph& graph, NodeId node);

  ValueId result() const { return result_; }

  /// Writes the product into `out`, which is f32[rows, columns] and contiguous. False, with nothing
  /// done, if the operands lie in memory in a way that it does not know.
  bool run(int parts, PartRunner& runner, const OperandSource& source, const at::Tensor& out) const;

 private:
  SplitProduct() = default;

  ValueId rows_, weights_, bias_, result_;  // bias_ is invalid when there is none
};

}  // namespace anabranch::torch_backend
