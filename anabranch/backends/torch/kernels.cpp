#include "anabranch/backends/torch/kernels.h"

#include <fmt/format.h>

#include <bit>
#include <mutex>
#include <optional>
#include <utility>

#include "anabranch/backends/torch/bind.h"
#include "anabranch/backends/torch/control.h"
#include "anabranch/backends/torch/out_variant.h"
#include "anabranch/backends/torch/placement.h"
#include "anabranch/backends/torch/split_product.h"
#include "anabranch/backends/torch/step_kernel.h"
#include "anabranch/backends/torch/values.h"
#include "anabranch/base/diagnostic.h"
#include "anabranch/ir/step.h"

namespace anabranch::torch_backend {
namespace {

/// A stack that keeps its memory from operator to operator. An operator may itself run a compiled
/// model on this thread (a Python operator): that one then finds no stack and makes its own.
class StackLease {
 public:
  StackLease() : stack_(std::exchange(spare(), {})) { stack_.clear(); }
  ~StackLease() {
    stack_.clear();
    spare() = std::move(stack_);
  }
  StackLease(const StackLease&) = delete;
  StackLease& operator=(const StackLease&) = delete;
  torch::jit::Stack& operator*() { return stack_; }

 private:
  static torch::jit::Stack& spare() {
    static thread_local torch::jit::Stack stack;
    return stack;
  }
  torch::jit::Stack stack_;
};

using BoundOperators = std::vector<std::unique_ptr<BoundOperator>>;      // by NodeId
using ControlOperators = std::vector<std::unique_ptr<ControlOperator>>;  // by NodeId

struct Steps {
  std::vector<std::unique_ptr<StepKernel>> kernels;  // by NodeId
  PackedWeights weights;
};

class LoadedAten : public LoadedKernels, public Materializer {
 public:
  LoadedAten(const Graph& graph, BoundOperators bound, ControlOperators controls, Steps steps,
             std::shared_ptr<const ValuePlan> plan, PartRunner* parts)
      : graph_(graph),
        bound_(std::move(bound)),
        controls_(std::move(controls)),
        steps_(std::move(steps)),
        plan_(std::move(plan)),
        parts_(parts),
        products_(graph.nodes.size()) {
    for (size_t i = 0; parts_ && i < products_.size(); ++i)
      products_[i] = SplitProduct::of(graph, NodeId(i));
    for (const auto& op : bound_) has_foreign_ = has_foreign_ || (op && op->foreign());
    for (const auto& op : controls_) has_foreign_ = has_foreign_ || (op && op->foreign());
  }

  std::unique_ptr<CallValues> make_values() const override {
    auto values = std::make_unique<TorchValues>(*plan_, *this, has_foreign_);
    values->prepared.resize(bound_.size());
    for (size_t i = 0; i < bound_.size(); ++i) {
      if (bound_[i]) values->prepared[i] = bound_[i]->prepare(*values);
    }
    return values;
  }

  void on_thread(CallValues& values, const Walk& walk) const override;

  bool needs_release(BufferId buffer) const override {
    for (size_t root : plan_->roots_of(buffer)) {
      const ValuePlan::Root& planned = plan_->roots()[root];
      if (planned.origin == ValuePlan::Origin::Result && !planned.placement) return true;
    }
    return false;
  }
  bool can_split(NodeId node) const override { return products_[node.index()].has_value(); }

  void release(BufferId buffer, CallValues& values) const noexcept override {
    static_cast<TorchValues&>(values).release(buffer);
  }
  void clear(CallValues& values) const noexcept override {
    static_cast<TorchValues&>(values).clear();
  }

  void materialize(ValueId value, TorchValues& values) const override;

  std::string report() const override {
    if (steps_.weights.empty()) return "";
    int64_t bytes = 0;
    for (const auto& [key, weight] : steps_.weights) bytes += weight->bytes();
    return fmt::format("packed weights: {} in {} bytes\n", steps_.weights.size(), bytes);
  }

 private:
  friend class AtenLauncher;

  /// False if the operands of this call do not allow it.
  bool run_parts(NodeId node, int parts, TorchValues& values) const {
    const std::optional<SplitProduct>& product = products_[node.index()];
    return product && parts > 1 &&
           product->run(parts, *parts_, values, values.destination(product->result()));
  }

  void run_control(NodeId node, const ControlOperator& control, int threads,
                   TorchValues& values) const {
    if (values.watched()) {
      for (ValueId operand : graph_.value_operands(node)) materialize(operand, values);
    }
    std::vector<c10::IValue> results = control.run(threads, values);
    for (size_t i = 0; i < results.size(); ++i) deliver(node, i, std::move(results[i]), values);
    check_results(node, results.size());
  }

  /// Takes all results that an operator left on the stack.
  void deliver_all(NodeId node, torch::jit::Stack& stack, TorchValues& values) const {
    const std::vector<ValueId>& results = graph_.node(node).results;
    size_t index = 0;
    for_each_result(stack, [&](c10::IValue result) {
      size_t position = index++;
      if (position < results.size()) deliver(node, position, std::move(result), values);
    });
    check_results(node, index);
  }

  /// Takes one result: the symbols that it defines first, since the place of the tensor in memory
  /// may be given by them.
  void deliver(NodeId node, size_t position, c10::IValue result, TorchValues& values) const {
    for (const ValuePlan::DefinedSymbol& symbol : plan_->defined_symbols(node)) {
      if (symbol.result == position)
        values.symbols.find(symbol.name)->second = read(symbol, result);
    }
    if (result.isTensor()) {
      values.store(graph_.node(node).results[position], std::move(result).toTensor());
    }
  }

  static int64_t read(const ValuePlan::DefinedSymbol& symbol, const c10::IValue& result) {
    using Part = ValuePlan::DefinedSymbol::Part;
    auto dimension = static_cast<int64_t>(symbol.dimension);
    switch (symbol.part) {
      case Part::Size: return result.toTensor().size(dimension);
      case Part::Stride: return result.toTensor().stride(dimension);
      case Part::Offset: return result.toTensor().storage_offset();
      case Part::Host: break;
    }
    if (result.isDouble()) return std::bit_cast<int64_t>(result.toDouble());
    return result.isBool() ? int64_t{result.toBool()} : result.toInt();
  }

  void execute_watched(NodeId node, const BoundOperator& op, TorchValues& values) const {
    for (ValueId operand : graph_.value_operands(node)) materialize(operand, values);
    torch::jit::Stack stack;
    op.push_arguments(stack, values);
    op.call(stack, /*direct=*/false);
    deliver_all(node, stack, values);
  }

  void check_results(NodeId node, size_t returned) const {
    const Node& op = graph_.node(node);
    if (returned >= op.results.size()) return;
    throw Error("result-count", describe(op) + " returned fewer results than were captured",
                "an operator's fake (meta) implementation must return what the real one returns");
  }

  const Graph& graph_;
  BoundOperators bound_;
  ControlOperators controls_;
  Steps steps_;
  std::shared_ptr<const ValuePlan> plan_;
  PartRunner* parts_;
  std::vector<std::optional<SplitProduct>> products_;  // by NodeId
  bool has_foreign_ = false;
  mutable std::once_flag views_once_;
  mutable BoundOperators views_;  // only watched calls run them, so bound at the first such call
};

/// Keeps for all operators of a lane what each of them needs: the caller's state on the thread, a
/// stack, the number of threads.
class AtenLauncher : public Launcher {
 public:
  AtenLauncher(const LoadedAten& loaded, TorchValues& values)
      : loaded_(loaded), values_(values), direct_(!values.caller().observed()) {
    if (!values.watched()) scope_.emplace(values.caller(), /*whole=*/false);
  }

  void launch(NodeId node, int threads) override {
    const BoundOperator* op = loaded_.bound_[node.index()].get();
    if (!op) return launch_other(node, threads);
    threads_.use(values_.caller().threads(threads));
    if (values_.watched()) {
      loaded_.execute_watched(node, *op, values_);
    } else if (op->foreign()) {
      launch_foreign(node, *op);
    } else {
      execute(node, *op);
    }
  }

  void launch_split(NodeId node, int threads) override {
    int parts = values_.caller().threads(threads).openmp;
    if (values_.watched() || !loaded_.run_parts(node, parts, values_)) launch(node, threads);
  }

 private:
  /// A step, a control operator, or a wait, whose result is its operand.
  void launch_other(NodeId node, int threads) {
    if (const StepKernel* step = loaded_.steps_.kernels[node.index()].get()) {
      threads_.use(values_.caller().threads(threads));
      return step->run(values_);
    }
    const ControlOperator* control = loaded_.controls_[node.index()].get();
    if (control) loaded_.run_control(node, *control, threads, values_);
  }

  /// It may change any of the thread's state.
  void launch_foreign(NodeId node, const BoundOperator& op) {
    struct LookAgain {
      ThreadCount& threads;
      ~LookAgain() { threads.look_again(); }
    } look_again{threads_};
    CallerScope scope(values_.caller(), /*whole=*/true);
    execute(node, op);
  }

  void execute(NodeId node, const BoundOperator& op) {
    torch::jit::Stack& stack = *stack_;
    stack.clear();  // of an operator that failed
    const BoundOperator::Prepared& prepared = values_.prepared[node.index()];
    op.push_arguments(stack, prepared, values_);
    if (op.calls_into()) {
      if (!prepared.results) {
        for (ValueId result : loaded_.graph_.node(node).results)
          stack.emplace_back(values_.destination(result));
      }
      op.call_into(stack, direct_);
    } else {
      op.call(stack, direct_);
      loaded_.deliver_all(node, stack, values_);
    }
    stack.clear();
  }

  const LoadedAten& loaded_;
  TorchValues& values_;
  const bool direct_;
  ThreadCount threads_;
  std::optional<CallerScope> scope_;
  StackLease stack_;
};

void LoadedAten::on_thread(CallValues& values, const Walk& walk) const {
  AtenLauncher launcher(*this, static_cast<TorchValues&>(values));
  walk(launcher);
}

void LoadedAten::materialize(ValueId value, TorchValues& values) const {
  if (!graph_.value(value).tensor() || values.has(value)) return;
  NodeId id = graph_.value(value).producer;
  const Node& node = graph_.node(id);
  if (node.kind == NodeKind::Wait) {
    ValueId operand = graph_.value_operands(id).at(0);
    materialize(operand, values);
    values.store(value, values.tensor(operand));
  } else if (node.kind == NodeKind::View) {
    std::call_once(views_once_, [&] {
      views_.resize(graph_.nodes.size());
      for (size_t i = 0; i < graph_.nodes.size(); ++i) {
        if (graph_.nodes[i].kind != NodeKind::View) continue;
        views_[i] = std::make_unique<BoundOperator>(graph_, NodeId(i));
      }
    });
    execute_watched(id, *views_[id.index()], values);
  }
}

}  // namespace

std::vector<bool> AtenKernels::placeable(const Graph& graph) const {
  return placeable_buffers(graph);
}

std::unique_ptr<LoadedKernels> AtenKernels::load(const Graph& graph, const MemoryLayout& layout) {
  BoundOperators bound(graph.nodes.size());
  ControlOperators controls(graph.nodes.size());
  std::vector<bool> reshapes(graph.nodes.size(), false);
  std::vector<Diagnostic> findings;
  Steps steps;
  steps.kernels.resize(graph.nodes.size());
  KernelLibrary library(library_);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].kind != NodeKind::Operator) continue;
    try {
      if (!graph.nodes[i].bodies.empty()) {
        controls[i] = std::make_unique<ControlOperator>(graph, NodeId(i));
        continue;
      }
      if (step::is_step(graph.nodes[i].op)) {
        steps.kernels[i] = std::make_unique<StepKernel>(graph, NodeId(i), library, steps.weights);
        continue;
      }
      bound[i] = std::make_unique<BoundOperator>(graph, NodeId(i));
      reshapes[i] = bound[i]->reshapes_operand();
    } catch (const Error& error) {
      findings.insert(findings.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  }
  if (!findings.empty()) throw Error(std::move(findings));
  plan_ =
      std::make_shared<const ValuePlan>(graph, constants_, reshapes, kept_buffers(graph), layout);
  for (const ValuePlan::Root& root : plan_->roots()) {
    // The operator that makes one result in its place makes all of them in memory that is given.
    BoundOperator* maker = bound[graph.value(root.value).producer.index()].get();
    if (maker && root.placement && !maker->calls_into())
      maker->use_out_variant(*find_out_variant(maker->handle()));
  }
  return std::make_unique<LoadedAten>(graph, std::move(bound), std::move(controls),
                                      std::move(steps), plan_, parts_);
}

}  // namespace anabranch::torch_backend
