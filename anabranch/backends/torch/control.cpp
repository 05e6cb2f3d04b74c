#include "anabranch/backends/torch/control.h"

#include <ATen/ops/clone.h>
#include <ATen/ops/item.h>
#include <fmt/format.h>

#include <algorithm>

#include "anabranch/backends/torch/exchange.h"
#include "anabranch/backends/torch/kernels.h"
#include "anabranch/base/diagnostic.h"
#include "anabranch/ir/uses.h"
#include "anabranch/runtime/idle_pool.h"
#include "anabranch/runtime/kernel.h"

namespace anabranch::torch_backend {
namespace {

std::string place_of(const Node& node) {
  std::string place = "in operator " + describe(node);
  if (node.source.known()) place += ", at " + to_string(node.source);
  return place;
}

/// By node: the buffers made inside that nothing uses after it.
std::vector<std::vector<BufferId>> find_releases(const Graph& graph) {
  UseTable uses(graph);
  std::vector<NodeId> last(graph.buffer_count);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const Use& use : uses.of(NodeId(i))) {
      if (!uses.is_resource(use.buffer)) last[use.buffer.index()] = NodeId(i);
    }
  }
  // Inputs and outputs outlive the body.
  auto keep = [&](ValueId value) {
    if (const TensorType* type = graph.value(value).tensor()) last[type->buffer.index()] = NodeId{};
  };
  for (const Node& node : graph.nodes) {
    if (node.kind == NodeKind::Input) std::for_each(node.results.begin(), node.results.end(), keep);
  }
  for (const Argument& output : graph.outputs) for_each_value(output, keep);
  std::vector<std::vector<BufferId>> releases(graph.nodes.size());
  for (size_t b = 0; b < last.size(); ++b) {
    if (last[b].valid()) releases[last[b].index()].push_back(BufferId(b));
  }
  return releases;
}

}  // namespace

/// One nested graph, with its operators in program order.
class ControlOperator::Body {
 public:
  explicit Body(const Graph& graph) : graph_(graph), releases_(find_releases(graph)) {
    AtenKernels kernels({});
    loaded_ = kernels.load(graph, {});
    plan_ = kernels.plan();
    foreign_ = static_cast<TorchValues&>(*loaded_->make_values()).needs_whole_caller();
  }

  bool foreign() const { return foreign_; }
  size_t input_count() const {
    return plan_->tensor_inputs().size() + plan_->integer_inputs().size();
  }

  Items run(const Items& inputs, int threads, const TorchValues& outer) const {
    Lease lease(*this);
    TorchValues& values = lease.values();
    bind(inputs, values);
    values.inherit_caller(outer);
    if (outer.watched()) {
      values.watch();
    } else {
      values.bind_stand_ins();
    }
    loaded_->on_thread(values, [&](Launcher& launcher) {
      for (size_t i = 0; i < graph_.nodes.size(); ++i) {
        if (graph_.nodes[i].kind != NodeKind::Operator) continue;
        launch(NodeId(i), threads, launcher);
        for (BufferId buffer : releases_[i]) loaded_->release(buffer, values);
      }
    });
    Items outputs;
    for (const Argument& output : graph_.outputs) outputs.push_back(take(output, inputs, values));
    return outputs;
  }

 private:
  /// The values of one run of the body; a loop uses the same ones again.
  class Lease {
   public:
    explicit Lease(const Body& body) : body_(body), values_(body.idle_.take()) {
      if (!values_) values_ = body.loaded_->make_values();
    }
    ~Lease() {
      body_.loaded_->clear(*values_);
      body_.idle_.give_back(std::move(values_));
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    TorchValues& values() { return static_cast<TorchValues&>(*values_); }

   private:
    const Body& body_;
    std::unique_ptr<CallValues> values_;
  };

  void bind(const Items& inputs, TorchValues& values) const {
    std::vector<at::Tensor> tensors;
    std::vector<int64_t> integers;
    for (const c10::IValue& input : inputs) {
      if (input.isTensor()) {
        tensors.push_back(input.toTensor());
      } else {
        integers.push_back(input.isBool() ? int64_t{input.toBool()} : input.toInt());
      }
    }
    if (tensors.size() != plan_->tensor_inputs().size() ||
        integers.size() != plan_->integer_inputs().size()) {
      throw Error("control-flow",
                  fmt::format("the body \"{}\" takes {} tensors and {} integers, {} and {} were "
                              "given",
                              graph_.name, plan_->tensor_inputs().size(),
                              plan_->integer_inputs().size(), tensors.size(), integers.size()));
    }
    values.symbols = bind_symbols(*plan_, tensors, integers);
    for (size_t i = 0; i < tensors.size(); ++i) {
      size_t index = plan_->tensor_inputs()[i].root;
      const ValuePlan::Root& root = plan_->roots()[index];
      Window scratch;
      // A kernel may choose other strides than were captured; windows need the captured ones.
      bool fits = !root.viewed || root.written ||
                  same_layout(root.geometry.window(values.symbols, scratch), tensors[i]);
      values.set_root(index,
                      fits ? tensors[i] : conform(tensors[i], root.geometry, values.symbols));
    }
  }

  void launch(NodeId id, int threads, Launcher& launcher) const {
    try {
      launcher.launch(id, threads);
    } catch (const BodyFailure& inner) {
      throw BodyFailure(inner.error, inner.where + ", " + place_of(graph_.node(id)));
    } catch (...) {
      throw BodyFailure(std::current_exception(), place_of(graph_.node(id)));
    }
  }

  c10::IValue take(const Argument& output, const Items& inputs, TorchValues& values) const {
    if (const auto* value = std::get_if<ValueId>(&output.value)) {
      if (graph_.value(*value).host()) return values.integer(graph_.value(*value).host()->value);
      return unshared(values.output(*value), inputs);
    }
    if (const auto* expr = std::get_if<Expr>(&output.value)) {
      if (expr->is_condition()) return values.integer(*expr) != 0;
      return values.integer(*expr);
    }
    if (const auto* integer = std::get_if<int64_t>(&output.value)) return *integer;
    if (const auto* flag = std::get_if<bool>(&output.value)) return *flag;
    return c10::IValue();
  }

  /// The results of a control operator are memory of their own, also when a loop never runs.
  static at::Tensor unshared(at::Tensor tensor, const Items& inputs) {
    bool shared = std::any_of(inputs.begin(), inputs.end(), [&](const c10::IValue& input) {
      return input.isTensor() && input.toTensor().is_alias_of(tensor);
    });
    return shared ? at::clone(tensor) : tensor;
  }

  const Graph& graph_;
  std::vector<std::vector<BufferId>> releases_;
  std::unique_ptr<LoadedKernels> loaded_;
  std::shared_ptr<const ValuePlan> plan_;
  mutable IdlePool<CallValues> idle_;
  bool foreign_ = false;
};

ControlOperator::ControlOperator(const Graph& graph, NodeId id)
    : graph_(graph), node_(graph.node(id)) {
  bool known = node_.op == "cond" || node_.op == "while_loop";
  if (!known || node_.bodies.size() != 2 || node_.operands.size() != 2) {
    throw Error(Diagnostic{
        Severity::Error,
        "control-flow",
        fmt::format("operator {}: not a control operator that runs here", describe(node_)),
        "use cond or while_loop, each with two operands and two bodies",
        {node_.source}});
  }
  for (const auto& body : node_.bodies) bodies_.push_back(std::make_unique<Body>(*body));
}

ControlOperator::~ControlOperator() = default;

bool ControlOperator::foreign() const {
  return std::any_of(bodies_.begin(), bodies_.end(), [](const auto& b) { return b->foreign(); });
}

ControlOperator::Items ControlOperator::evaluate(const Argument& argument,
                                                 const TorchValues& values) const {
  Items items;
  if (const auto* list = std::get_if<ArgumentList>(&argument.value)) {
    for (const Argument& item : *list) items.push_back(evaluate(item, values).at(0));
  } else if (const auto* value = std::get_if<ValueId>(&argument.value)) {
    const HostType* host = graph_.value(*value).host();
    items.push_back(host ? c10::IValue(values.integer(host->value))
                         : c10::IValue(values.tensor(*value)));
  } else if (const auto* expr = std::get_if<Expr>(&argument.value)) {
    items.emplace_back(values.integer(*expr));
  } else if (const auto* integer = std::get_if<int64_t>(&argument.value)) {
    items.emplace_back(*integer);
  } else if (const auto* flag = std::get_if<bool>(&argument.value)) {
    items.emplace_back(*flag);
  } else {
    throw Error("control-flow", "an operand is neither a tensor nor an integer");
  }
  return items;
}

bool ControlOperator::holds(const c10::IValue& predicate) const {
  if (predicate.isTensor()) return predicate.toTensor().item().toBool();
  return predicate.isBool() ? predicate.toBool() : predicate.toInt() != 0;
}

std::vector<c10::IValue> ControlOperator::run(int threads, const TorchValues& values) const {
  CallerScope scope(values.caller(), foreign());
  if (node_.op == "cond") {
    bool first = holds(evaluate(node_.operands[0].value, values).at(0));
    return bodies_[first ? 0 : 1]->run(evaluate(node_.operands[1].value, values), threads, values);
  }
  Items carried = evaluate(node_.operands[0].value, values);
  const Items additional = evaluate(node_.operands[1].value, values);
  const size_t count = carried.size();
  auto inputs = [&] {
    Items all = carried;
    all.insert(all.end(), additional.begin(), additional.end());
    return all;
  };
  bool ran = false;
  while (holds(bodies_[0]->run(inputs(), threads, values).at(0))) {
    carried = bodies_[1]->run(inputs(), threads, values);
    if (carried.size() != count) {
      throw Error("control-flow", "a loop's body returned another number of values than it takes");
    }
    ran = true;
  }
  if (!ran) {
    for (c10::IValue& value : carried) {
      if (value.isTensor()) value = at::clone(value.toTensor());
    }
  }
  return carried;
}

}  // namespace anabranch::torch_backend
