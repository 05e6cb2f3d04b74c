#include "anabranch/analysis/cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "anabranch/analysis/operator_times.h"
#include "anabranch/ir/communication.h"
#include "anabranch/ir/operands.h"
#include "anabranch/ir/step.h"

namespace anabranch {
namespace {

int64_t estimate(const Expr& expr) {
  if (expr.is_constant()) return expr.constant();
  std::vector<std::string> names;
  expr.collect_symbols(names);
  SymbolTable symbols;
  for (const std::string& name : names) symbols.emplace(name, kSymbolHint);
  try {
    return std::max<int64_t>(0, expr.evaluate(symbols));
  } catch (const Error&) {  // a division by what the hint makes 0
    return kSymbolHint;
  }
}

double elements(const TensorType& type) {
  double count = 1;
  for (const Expr& size : type.sizes) count *= static_cast<double>(estimate(size));
  return count;
}

double size_at(const TensorType& type, size_t from_end) {
  if (type.sizes.size() < from_end) return 1;
  return static_cast<double>(estimate(type.sizes[type.sizes.size() - from_end]));
}

/// Arithmetic per element of operators whose only traffic is their operands and results.
struct Weight {
  std::string_view name;
  double flops;
};

// Sorted. Pointwise operators, reductions and moves, in their functional name; what is missing here
// is a guess.
constexpr auto kWeights = std::to_array<Weight>({
    {"_foreach_add", 1},
    {"_foreach_mul", 1},
    {"_foreach_sub", 1},
    {"_log_softmax", 12},
    {"_softmax", 12},
    {"_to_copy", 1},
    {"abs", 1},
    {"add", 1},
    {"addcdiv", 3},
    {"addcmul", 2},
    {"all", 1},
    {"amax", 1},
    {"amin", 1},
    {"any", 1},
    {"arange", 1},
    {"argmax", 2},
    {"argmin", 2},
    {"bitwise_and", 1},
    {"bitwise_not", 1},
    {"bitwise_or", 1},
    {"bitwise_xor", 1},
    {"cat", 1},
    {"ceil", 1},
    {"clamp", 2},
    {"clamp_max", 1},
    {"clamp_min", 1},
    {"clone", 1},
    {"constant_pad_nd", 1},
    {"copy", 1},
    {"cos", 10},
    {"div", 2},
    {"elu", 10},
    {"empty", 0},
    {"eq", 1},
    {"erf", 10},
    {"exp", 8},
    {"expm1", 10},
    {"fill", 1},
    {"flip", 1},
    {"floor", 1},
    {"full", 1},
    {"full_like", 1},
    {"ge", 1},
    {"gelu", 20},
    {"gt", 1},
    {"hardsigmoid", 3},
    {"hardswish", 4},
    {"hardtanh", 2},
    {"le", 1},
    {"leaky_relu", 2},
    {"lerp", 2},
    {"linalg_vector_norm", 2},
    {"log", 8},
    {"log1p", 10},
    {"log_softmax", 12},
    {"logical_and", 1},
    {"logical_not", 1},
    {"logical_or", 1},
    {"lt", 1},
    {"masked_fill", 1},
    {"maximum", 1},
    {"mean", 1},
    {"minimum", 1},
    {"mul", 1},
    {"native_batch_norm", 6},
    {"native_group_norm", 6},
    {"native_layer_norm", 6},
    {"ne", 1},
    {"neg", 1},
    {"new_empty", 0},
    {"new_full", 1},
    {"new_zeros", 1},
    {"ones", 1},
    {"ones_like", 1},
    {"pow", 10},
    {"prod", 1},
    {"reciprocal", 2},
    {"relu", 1},
    {"remainder", 4},
    {"repeat", 1},
    {"roll", 1},
    {"round", 1},
    {"rsqrt", 3},
    {"rsub", 1},
    {"scalar_tensor", 1},
    {"sigmoid", 10},
    {"sign", 1},
    {"silu", 12},
    {"sin", 10},
    {"softmax", 12},
    {"softplus", 12},
    {"sqrt", 3},
    {"square", 1},
    {"stack", 1},
    {"std", 3},
    {"sub", 1},
    {"sum", 1},
    {"tanh", 10},
    {"threshold", 1},
    {"threshold_backward", 1},
    {"tril", 1},
    {"triu", 1},
    {"trunc", 1},
    {"var", 3},
    {"var_mean", 3},
    {"where", 1},
    {"zero", 1},
    {"zeros", 1},
    {"zeros_like", 1},
});
static_assert(std::is_sorted(kWeights.begin(), kWeights.end(),
                             [](const Weight& a, const Weight& b) { return a.name < b.name; }));
constexpr double kUnknownWeight = 20;
constexpr double kWorthThreads = 0.9;  // of the time on one thread: else several are no use
constexpr int kNoLimit = 1024;

/// "add" of "aten.add_.Tensor"; empty for another library's operator.
std::string_view aten_name(std::string_view op) {
  if (!op.starts_with("aten.")) return {};
  op.remove_prefix(5);
  op = op.substr(0, op.find('.'));
  if (op.size() > 1 && op.back() == '_') op.remove_suffix(1);
  return op;
}

/// The shapes of one operator.
struct Shapes {
  std::vector<const TensorType*> operands, results;
  bool symbolic = false;

  Shapes(const Graph& graph, NodeId id) {
    auto add = [&](ValueId value, std::vector<const TensorType*>& list) {
      const TensorType* type = graph.value(value).tensor();
      if (!type) return;
      list.push_back(type);
      symbolic = symbolic || !type->is_static();
    };
    for_each_operand(graph, id, [&](ValueId value) { add(value, operands); });
    for (ValueId value : graph.node(id).results) add(value, results);
  }

  const TensorType* operand(size_t index) const {
    return index < operands.size() ? operands[index] : nullptr;
  }
  double result_elements() const {
    double count = 0;
    for (const TensorType* type : results) count += elements(*type);
    return count;
  }
  double largest() const {
    double most = 0;
    for (const TensorType* type : operands) most = std::max(most, elements(*type));
    for (const TensorType* type : results) most = std::max(most, elements(*type));
    return most;
  }
  double bytes() const {
    double sum = 0;
    for (const auto* list : {&operands, &results}) {
      for (const TensorType* type : *list)
        sum += elements(*type) * static_cast<double>(size_of(type->dtype));
    }
    return sum;
  }
};

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Multiplications and additions of an operator of the matrix unit; empty: no formula.
std::optional<double> cube_flops(std::string_view name, const Shapes& shapes) {
  double made = shapes.result_elements();
  const TensorType *first = shapes.operand(0), *second = shapes.operand(1);
  if (!first || !second || shapes.results.empty()) return {};
  if (is_one_of(name, {"mm", "bmm", "mv", "matmul", "linear"}))
    return 2 * made * size_at(*first, 1);
  if (is_one_of(name, {"addmm", "baddbmm", "addmv"})) return 2 * made * size_at(*second, 1);
  if (is_one_of(name, {"convolution", "conv1d", "conv2d", "conv3d", "mkldnn_convolution"})) {
    // One filter is all but the first dimension of the weight.
    double filters = second->sizes.empty() ? 1 : static_cast<double>(estimate(second->sizes[0]));
    return 2 * made * elements(*second) / std::max(1.0, filters);
  }
  const TensorType* third = shapes.operand(2);
  if (name.find("attention") != name.npos && third && !name.ends_with("backward")) {
    double rows = elements(*first) / std::max(1.0, size_at(*first, 1));
    return 2 * rows * size_at(*second, 2) * (size_at(*first, 1) + size_at(*third, 1));
  }
  return {};
}

bool is_wide(const Shapes& shapes) {
  auto wide = [](const TensorType* type) {
    return type->dtype == DType::F32 || type->dtype == DType::F64;
  };
  return std::all_of(shapes.operands.begin(), shapes.operands.end(), wide) &&
         std::all_of(shapes.results.begin(), shapes.results.end(), wide);
}

double flop_rate(OperatorClass operator_class, const Shapes& shapes, const DeviceProfile& profile) {
  bool wide = is_wide(shapes);
  if (operator_class == OperatorClass::Vector)
    return wide ? profile.vector_wide : profile.vector_narrow;
  if (!wide) return profile.cube_narrow;
  bool is_double = !shapes.operands.empty() && shapes.operands[0]->dtype == DType::F64;
  return is_double ? profile.cube_f32 / 2 : profile.cube_f32;
}

/// Threads that can share the operator, whatever the machine has.
int widest(const OperatorCost& cost, const Shapes& shapes, const DeviceProfile& profile) {
  double parts = shapes.largest() / static_cast<double>(profile.grain);
  if (cost.operator_class == OperatorClass::Cube) {
    if (!is_wide(shapes)) return 1;
    parts = cost.flops / 1e6;
  }
  return static_cast<int>(std::clamp(std::ceil(parts), 1.0, double{kNoLimit}));
}

/// A kernel made for a region: what its operators need, in single precision and on all threads.
bool take_step_cost(const Node& node, const Shapes& shapes, const DeviceProfile& profile,
                    OperatorCost& cost) {
  if (node.op == step::kBuffer) {
    cost.bytes = 0;
    cost.flops = 0;
    cost.widest = 1;
    return true;
  }
  auto found = node.attributes.find(step::kFlops);
  const auto* flops =
      found == node.attributes.end() ? nullptr : std::get_if<std::vector<int64_t>>(&found->second);
  if (!flops || flops->size() != 2) return false;
  auto cube = static_cast<double>((*flops)[0]), vector = static_cast<double>((*flops)[1]);
  cost.operator_class = cube > 0 ? OperatorClass::Cube : OperatorClass::Vector;
  cost.rate = cube > 0 ? profile.cube_f32 : profile.vector_wide;
  cost.flops = cube > 0 ? cube + vector * profile.cube_f32 / profile.vector_wide : vector;
  double parts =
      cube > 0 ? cost.flops / 1e6 : shapes.largest() / static_cast<double>(profile.grain);
  cost.widest = static_cast<int>(std::clamp(std::ceil(parts), 1.0, 1024.0));
  return true;
}

OperatorCost cost_of(const Graph& graph, NodeId id, const DeviceProfile& profile) {
  const Node& node = graph.node(id);
  OperatorCost cost;
  cost.known = true;
  if (node.kind != NodeKind::Operator) return cost;
  Shapes shapes(graph, id);
  std::string_view name = aten_name(node.op);
  cost.operator_class = operator_class(node);
  cost.bytes = shapes.bytes();
  cost.rate = flop_rate(cost.operator_class, shapes, profile);
  if (take_step_cost(node, shapes, profile, cost)) return cost;
  if (cost.operator_class == OperatorClass::Vector) {
    auto found = std::lower_bound(kWeights.begin(), kWeights.end(), name,
                                  [](const Weight& w, std::string_view n) { return w.name < n; });
    cost.known = found != kWeights.end() && found->name == name;
    cost.flops = (cost.known ? found->flops : kUnknownWeight) * shapes.largest();
  } else {
    std::optional<double> flops = cube_flops(name, shapes);
    double depth = shapes.operands.empty() ? 1 : size_at(*shapes.operands[0], 1);
    cost.flops = flops.value_or(2 * shapes.result_elements() * depth);
    cost.known = flops.has_value();
  }
  cost.known = cost.known && !shapes.symbolic && works_alone(node);
  cost.widest = widest(cost, shapes, profile);
  return cost;
}

}  // namespace

MeasuredDurations measured_durations(const Timeline& timeline, const std::string& program) {
  bool named = std::any_of(timeline.spans.begin(), timeline.spans.end(),
                           [&](const TimelineSpan& span) { return span.program == program; });
  std::map<std::string, std::vector<MeasuredDuration>> all;
  for (const TimelineSpan& span : timeline.spans) {
    if (named && span.program != program) continue;
    all[span.name].push_back({static_cast<double>(span.end - span.begin), span.threads});
  }
  MeasuredDurations medians;
  for (auto& [name, durations] : all) {
    auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
    std::nth_element(durations.begin(), middle, durations.end(),
                     [](const auto& a, const auto& b) { return a.ns < b.ns; });
    medians.emplace(name, *middle);
  }
  return medians;
}

CostModel::CostModel(const Graph& graph, const DeviceProfile& profile,
                     const MeasuredDurations& measured)
    : profile_(profile) {
  costs_.reserve(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    costs_.push_back(cost_of(graph, NodeId(i), profile_));
    runs_.push_back(graph.nodes[i].kind == NodeKind::Operator);
    if (measured.empty()) continue;
    auto found = measured.find(graph.nodes[i].name);
    if (found == measured.end()) continue;
    measured_.emplace(NodeId(i), found->second);
    if (found->second.one_ns <= 0) continue;
    costs_[i].known = works_alone(graph.nodes[i]);
    costs_[i].widest = found->second.ns < kWorthThreads * found->second.one_ns ? kNoLimit : 1;
  }
}

int CostModel::used_threads(int threads) const {
  int cores = std::max(1, profile_.cores);
  int unlimited = profile_.threads > 0 ? profile_.threads : cores;
  return std::min(threads > 0 ? threads : unlimited, cores);
}

double CostModel::roofline(const OperatorCost& cost, int threads) const {
  int used = std::min(used_threads(threads), cost.widest);
  double arithmetic = cost.flops / (cost.rate * used);
  double traffic = cost.bytes / std::min(profile_.core_bandwidth * used, profile_.bandwidth);
  double opening = used > 1 ? profile_.threading_ns : 0;
  return profile_.launch_ns + std::max(arithmetic, traffic) + opening;
}

double CostModel::nanoseconds(NodeId node, int threads) const {
  if (!runs_[node.index()]) return 0;
  const OperatorCost& cost = costs_[node.index()];
  double estimated = roofline(cost, threads);
  auto measured = measured_.find(node);
  if (measured == measured_.end()) return estimated;
  if (measured->second.one_ns > 0) {
    OperatorTime time{measured->second.one_ns, measured->second.ns, 0};
    return time.with(used_threads(threads), used_threads(measured->second.threads));
  }
  return measured->second.ns * estimated / roofline(cost, measured->second.threads);
}

}  // namespace anabranch
