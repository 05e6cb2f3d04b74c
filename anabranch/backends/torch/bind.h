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
  /// True if tensor(value) is the same object in every call.
  virtual bool fixed(ValueId value) const = 0;
};

/// Immutable after construction; thread-safe.
class BoundOperator {
 public:
  /// Throws Error ("unknown-operator", "bad-argument") that names the operator, its schema and its
  /// source line.
  BoundOperator(const Graph& graph, NodeId node);

  const c10::OperatorHandle& handle() const { return handle_; }

  /// Makes calls write into tensors that they are given: see out_variant.h.
  void use_out_variant(const c10::OperatorHandle& out) { out_ = out; }
  bool calls_into() const { return out_.has_value(); }

  /// The arguments of one operator in one context of calls: what is the same in each call is there.
  struct Prepared;
  Prepared prepare(const OperandSource& source) const;

  /// Appends the arguments of this call to `stack`, and what `prepared` has of the results' tensors
  /// of call_into().
  void push_arguments(torch::jit::Stack& stack, const Prepared& prepared,
                      const OperandSource& source) const;
  /// The same without preparation and without the results' tensors.
  void push_arguments(torch::jit::Stack& stack, const OperandSource& source) const;

  /// Takes the arguments off `stack`, leaves the results. `direct`: calls the CPU's kernel without
  /// looking for anybody who wants to come before it, where that makes no difference.
  void call(torch::jit::Stack& stack, bool direct) const { call(handle_, stack, direct); }
  /// The same with a tensor for each result after the arguments, which then holds it. Only after
  /// use_out_variant().
  void call_into(torch::jit::Stack& stack, bool direct) const { call(*out_, stack, direct); }

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
  static c10::IValue complete(const Fill& fill, const OperandSource& source);
  static bool is_fixed(const Fill& fill, const OperandSource& source);
  void call(const c10::OperatorHandle& handle, torch::jit::Stack& stack, bool direct) const {
    if (direct && direct_) {
      handle.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &stack);
    } else {
      handle.callBoxed(stack);
    }
  }

  c10::OperatorHandle handle_;
  std::optional<c10::OperatorHandle> out_;
  torch::jit::Stack arguments_;  // literals in place; what a call fills in is None
  std::vector<Fill> fills_;
  std::vector<ValueId> results_;
  bool foreign_ = false;
  bool reshapes_operand_ = false;
  bool direct_ = false;  // its operands say that the CPU's kernel is the one to call
};

struct BoundOperator::Prepared {
  torch::jit::Stack arguments;
  bool results = false;           // the tensors of the results are among the arguments
  std::vector<uint32_t> varying;  // indices of the operator's fills that remain to be done
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
