// Control operators: `cond` chooses one of two bodies, `while_loop` repeats one. A launch evaluates
// the predicate and runs the bodies in program order on the thread that launches.
//
//   cond(predicate, [operands])           body <if true>   body <if false>
//   while_loop([carried], [additional])   body <condition> body <next carried values>
//
// The inputs of a body are the operands in order (of a loop: carried, then additional).
#pragma once

#include <ATen/core/ivalue.h>

#include <memory>
#include <vector>

#include "anabranch/backends/torch/values.h"
#include "anabranch/ir/graph.h"

namespace anabranch::torch_backend {

/// Immutable after construction; thread-safe.
class ControlOperator {
 public:
  /// Throws Error ("control-flow", or what loading a body throws).
  ControlOperator(const Graph& graph, NodeId node);
  ~ControlOperator();

  /// The results, in order. `threads` limits every operator inside. Throws BodyFailure.
  std::vector<c10::IValue> run(int threads, const TorchValues& values) const;

  /// Some operator inside is implemented outside torch (see BoundOperator).
  bool foreign() const;

 private:
  class Body;
  using Items = std::vector<c10::IValue>;

  Items evaluate(const Argument& argument, const TorchValues& values) const;
  bool holds(const c10::IValue& predicate) const;

  const Graph& graph_;
  const Node& node_;
  std::vector<std::unique_ptr<Body>> bodies_;
};

}  // namespace anabranch::torch_backend
