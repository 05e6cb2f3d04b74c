// The tensors of one running call.
#pragma once

#include <memory>
#include <vector>

#include "anabranch/backends/torch/bind.h"
#include "anabranch/backends/torch/caller.h"
#include "anabranch/backends/torch/plan.h"
#include "anabranch/runtime/kernel.h"

namespace anabranch::torch_backend {

class TorchValues;

/// Makes the values of a watched call (see TorchValues::watched) on demand, views included, with
/// the operators that the user wrote.
class Materializer {
 public:
  virtual ~Materializer() = default;
  virtual void materialize(ValueId value, TorchValues& values) const = 0;
};

/// Different roots may be used by different threads at once; the schedule's events order the uses
/// of one root. The tensors of placed results, of constants and of inputs (ValuePlan::StandIn), and
/// the windows on them, are made once for the context; other windows are made for each use.
class TorchValues : public CallValues, public OperandSource {
 public:
  /// `foreign`: some operator needs all of the caller's thread-local state (see CallerState).
  TorchValues(const ValuePlan& plan, const Materializer& materializer, bool foreign);

  /// The tensor of a value, for an operator to use.
  at::Tensor tensor(ValueId value) const override;
  /// The tensor that holds the memory of a value, outside watched calls.
  const at::Tensor& owner(ValueId value) const { return roots_[plan_.place(value).root]; }
  bool fixed(ValueId value) const override { return fixed_[value.index()].defined(); }
  int64_t integer(const Expr& expression) const override {
    return expression.is_constant() ? expression.constant() : expression.evaluate(symbols);
  }
  /// The tensor of a value, for the caller to keep: the same object where the user's program has
  /// the same object, and a view with the version counter of its base where it has a view.
  at::Tensor output(ValueId value);

  /// What an operator is to write its result into: the placed tensor, or a fresh one, which is the
  /// result from then on.
  at::Tensor destination(ValueId value);
  /// The result of an operator. Ignored unless the value is a root or the call is watched.
  void store(ValueId value, at::Tensor tensor);
  void set_root(size_t root, at::Tensor tensor) { roots_[root] = std::move(tensor); }
  /// Gives the stand-ins the memory of the inputs that are set. Throws Error
  /// ("view-outside-memory", "view-misaligned").
  void bind_stand_ins();
  /// Drops the results that live in the buffer.
  void release(BufferId buffer) noexcept;
  /// Drops everything but the constants and what is placed.
  void clear() noexcept;

  /// A watched call runs every operator of the program, views too, through the whole dispatcher,
  /// and keeps each value's own tensor: subclasses and modes see what they see in eager mode.
  bool watched() const { return watched_; }
  void watch();
  bool has(ValueId value) const { return own_[value.index()].defined(); }

  bool needs_whole_caller() const { return foreign_; }
  void capture_caller() { caller_.capture(foreign_); }
  const CallerState& caller() const { return caller_; }
  /// For a graph that runs inside a call of another one.
  void inherit_caller(const TorchValues& outer) { caller_ = outer.caller_; }
  /// Tells autograd that the inputs and constants that the graph changes have changed.
  void bump_versions();
  const ValuePlan& plan() const { return plan_; }

  /// By NodeId; filled by who makes the values.
  std::vector<BoundOperator::Prepared> prepared;

 private:
  void place_results();
  void make_stand_ins();
  void make_windows();

  const ValuePlan& plan_;
  const Materializer& materializer_;
  bool foreign_;
  CallerState caller_;
  c10::DataPtr arena_;
  std::vector<at::Tensor> roots_;      // by root
  std::vector<at::Tensor> stand_ins_;  // by position in plan().stand_ins()
  std::vector<at::Tensor> fixed_;      // by value: those that are the same in every call
  std::vector<at::Tensor> own_;        // by value, in a watched call
  bool watched_ = false;
};

}  // namespace anabranch::torch_backend
