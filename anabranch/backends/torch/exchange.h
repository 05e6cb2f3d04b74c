// What goes into a call and what comes out: checks, memory that inputs share, version counters.
#pragma once

#include <tuple>
#include <vector>

#include "anabranch/backends/torch/values.h"

namespace anabranch::torch_backend {

/// The inputs of one call, checked against the captured types.
struct CallInputs {
  std::vector<at::Tensor> tensors;
  std::vector<int64_t> integers;
  SymbolTable symbols;
  bool watched = false;      // something wants to see every operator: run in order, dispatch fully
  bool overlapping = false;  // a written input shares memory with another one: run in order
};

/// The symbols that inputs bring, and a place for each one that an operator will define.
SymbolTable bind_symbols(const ValuePlan& plan, const std::vector<at::Tensor>& tensors,
                         const std::vector<int64_t>& integers);

/// Throws Error ("input-count", "input-mismatch") that says what was captured and what was given.
CallInputs prepare_inputs(const ValuePlan& plan, std::vector<at::Tensor> tensors,
                          std::vector<int64_t> integers);

/// Moves the inputs into the values of a call, takes the caller's state, bumps the version counters
/// of inputs that the graph changes.
void bind_inputs(CallInputs& inputs, TorchValues& values);

using CallOutputs = std::tuple<std::vector<at::Tensor>, std::vector<int64_t>>;

/// The tensor outputs and the host numbers that the graph returns (floats as the bits of a double);
/// literals appear in neither.
CallOutputs collect_outputs(TorchValues& values);

/// True if an input or constant that the graph changes shares bytes with another one, in a way that
/// the captured graph does not know.
bool overlaps(const ValuePlan& plan, const std::vector<at::Tensor>& tensors,
              const SymbolTable& symbols);

}  // namespace anabranch::torch_backend
