// An operator of the graph → an operator of torch with its arguments laid out once, so that a
// launch copies them, fills in the values of the call, and calls.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <memory>
#include <optional>
#include <vector>

#include "anabranch/ir/graph.h"

namespace anabranch::torch_backend {

/// The operator of a node; nullopt when torch has none of its name.
std::optional<c10::OperatorHandle> find_operator(const Node& node);
/// Implemented outside torch's own libraries: perhaps in Python, with its thread-local state.
bool is_foreign(const Node& node);

/// What a call provides to bound operators.
class OperandSource {
 public:
  virtual ~OperandSource() = default;
  virtual at::Tensor tensor(ValueId value) const = 0;
  virtual int64_t integer(const Expr& expression) const = 0;
};

/// Immutable after construction; thread-safe.
class BoundOperator {
 public:
  /// Throws Error ("unknown-operator", "bad-argument") that names the operator, its schema and its
  /// source line.
  BoundOperator(const Graph& graph, NodeId node);

  const c10::OperatorHandle& handle() const { return handle_; }
  /// Appends the arguments of this call to `stack`.
  void push_arguments(torch::jit::Stack& stack, const OperandSource& source) const;
  /// Calls through the dispatcher: takes the arguments off `stack`, leaves the results.
  void call(torch::jit::Stack& stack) const { handle_.callBoxed(stack); }

  /// The same with a tensor for each result after the arguments, which then holds it: see
  /// out_variant.h. Only after use_out_variant().
  void call_into(torch::jit::Stack& stack) const { out_->callBoxed(stack); }
  void use_out_variant(const c10::OperatorHandle& out) { out_ = out; }
  bool calls_into() const { return out_.has_value(); }

  bool foreign() const { return foreign_; }
  /// Changes sizes or strides of its operand (t_, squeeze_ …), not only its memory.
  bool reshapes_operand() const { return reshapes_operand_; }

 private:
  enum class FillKind : uint8_t {
    Tensor,
    Integer,
    Real,
    Number,
    NumberTensor,
    Tensors,
    OptionalTensors,
    Integers,
    Flag
  };
  struct Item {
    ValueId value;  // a tensor when valid
    Expr integer;
    bool real = false;  // the 64 bits of `integer` are a double
  };
  struct Fill {
    size_t position = 0;
    FillKind kind = FillKind::Tensor;
    std::vector<Item> items;
  };
  class Binder;
  static c10::Scalar number(const Item& item, const OperandSource& source);

  c10::OperatorHandle handle_;
  std::optional<c10::OperatorHandle> out_;
  torch::jit::Stack arguments_;  // literals in place; what a call fills in is None
  std::vector<Fill> fills_;
  bool foreign_ = false;
  bool reshapes_operand_ = false;
};

/// Calls `visit(IValue&)` for each result on the stack, the items of list results one by one.
template <class Visit>
void for_each_result(torch::jit::Stack& results, Visit&& visit) {
  for (c10::IValue& result : results) {
    if (result.isTensorList()) {
      for (const at::Tensor& item : result.toTensorVector()) visit(c10::IValue(item));
    } else {
      visit(std::move(result));
    }
  }
}

}  // namespace anabranch::torch_backend
