#include "anabranch/backends/torch/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "anabranch/base/diagnostic.h"

namespace anabranch::torch_backend {

SymbolTable bind_symbols(const ValuePlan& plan, const std::vector<at::Tensor>& tensors,
                         const std::vector<int64_t>& integers) {
  SymbolTable symbols;
  const Graph& graph = plan.graph();
  for (size_t i = 0; i < integers.size(); ++i) {
    const Expr& expr = graph.value(plan.integer_inputs()[i].value).host()->value;
    std::vector<std::string> names;
    expr.collect_symbols(names);
    if (names.size() == 1 && expr == Expr::symbol(names[0])) symbols.emplace(names[0], integers[i]);
  }
  for (const ValuePlan::DerivedSymbol& symbol : plan.derived_symbols()) {
    const at::Tensor& tensor = tensors[symbol.input];
    auto dimension = static_cast<int64_t>(symbol.dimension);
    if (!tensor.defined() || dimension >= tensor.dim()) continue;
    symbols.emplace(symbol.name, symbol.stride ? tensor.stride(dimension) : tensor.size(dimension));
  }
  // Distinct places, so that operators on several threads can set theirs.
  for (const std::string& name : plan.late_symbols()) symbols.emplace(name, 0);
  return symbols;
}

namespace {

void check_input(const Value& value, const Geometry& geometry, const SymbolTable& symbols,
                 const at::Tensor& tensor, size_t position) {
  Window scratch;
  bool fits = tensor.defined() && tensor.device().is_cpu() &&
              tensor.scalar_type() == geometry.dtype() &&
              same_layout(geometry.window(symbols, scratch), tensor) &&
              tensor.is_conj() == geometry.conjugate() && tensor.is_neg() == geometry.negative();
  if (fits) return;
  throw Error(
      "input-mismatch",
      fmt::format("input {} (%{}): captured as {}, given {}", position, value.name,
                  describe(geometry, symbols), describe(tensor)),
      "call the program with tensors of the captured type, or capture it again for this type");
}

void check_count(size_t wanted, size_t given, const char* what) {
  if (wanted == given) return;
  throw Error("input-count",
              fmt::format("the program takes {} {}, {} were given", wanted, what, given));
}

/// Bytes that a tensor can touch, as addresses.
struct Span {
  uintptr_t begin = 0, end = 0;
  bool written = false;
};

Span span_of(const at::Tensor& tensor, bool written) {
  if (tensor.numel() == 0) return {};
  int64_t low = 0, high = 0;
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    int64_t reach = (tensor.size(d) - 1) * tensor.stride(d);
    (reach < 0 ? low : high) += reach;
  }
  auto base = reinterpret_cast<intptr_t>(tensor.const_data_ptr());
  auto bytes = static_cast<int64_t>(tensor.itemsize());
  return {static_cast<uintptr_t>(base + low * bytes),
          static_cast<uintptr_t>(base + (high + 1) * bytes), written};
}

/// True if the inputs of one buffer lie to each other as they did when they were captured: then the
/// graph's own byte ranges describe them.
bool lie_as_captured(const ValuePlan& plan, const std::vector<size_t>& roots,
                     const std::unordered_map<size_t, const at::Tensor*>& given,
                     const SymbolTable& symbols) {
  const at::Tensor& first = *given.at(roots[0]);
  auto shift = [&](size_t root) {
    const at::Tensor& tensor = *given.at(root);
    return tensor.storage_offset() * static_cast<int64_t>(tensor.itemsize()) -
           plan.roots()[root].geometry.byte_offset(symbols);
  };
  return std::all_of(roots.begin(), roots.end(), [&](size_t root) {
    return given.at(root)->storage().unsafeGetStorageImpl() ==
               first.storage().unsafeGetStorageImpl() &&
           shift(root) == shift(roots[0]);
  });
}

}  // namespace

bool overlaps(const ValuePlan& plan, const std::vector<at::Tensor>& tensors,
              const SymbolTable& symbols) {
  if (!plan.writes_inputs()) return false;
  std::unordered_map<size_t, const at::Tensor*> given;  // by root
  size_t constant = 0;
  for (size_t i = 0; i < tensors.size(); ++i)
    given.emplace(plan.tensor_inputs()[i].root, &tensors[i]);
  for (size_t i = 0; i < plan.roots().size(); ++i) {
    if (plan.roots()[i].origin == ValuePlan::Origin::Constant)
      given.emplace(i, &plan.constants()[constant++]);
  }
  std::vector<Span> spans;
  auto add = [&](Span span) {
    if (span.begin != span.end) spans.push_back(span);
  };
  for (const auto& [root, tensor] : given) {
    const std::vector<size_t>& group = plan.roots_of(plan.roots()[root].buffer);
    bool together = group.size() > 1 && lie_as_captured(plan, group, given, symbols);
    if (!together) {
      add(span_of(*tensor, plan.roots()[root].written));
    } else if (root == group[0]) {
      Span whole = span_of(*tensor, plan.roots()[root].written);
      for (size_t member : group) {
        Span span = span_of(*given.at(member), false);
        if (span.begin == span.end) continue;
        if (whole.begin == whole.end) whole.begin = span.begin;
        whole.begin = std::min(whole.begin, span.begin);
        whole.end = std::max(whole.end, span.end);
      }
      add(whole);
    }
  }
  // Sorted by address, a span can only meet those that reach furthest so far.
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.begin < b.begin; });
  uintptr_t end = 0, written_end = 0;
  for (const Span& span : spans) {
    if (span.begin < written_end || (span.written && span.begin < end)) return true;
    end = std::max(end, span.end);
    if (span.written) written_end = std::max(written_end, span.end);
  }
  return false;
}

CallInputs prepare_inputs(const ValuePlan& plan, std::vector<at::Tensor> tensors,
                          std::vector<int64_t> integers) {
  check_count(plan.tensor_inputs().size(), tensors.size(), "tensors");
  check_count(plan.integer_inputs().size(), integers.size(), "integers");
  CallInputs inputs;
  inputs.symbols = bind_symbols(plan, tensors, integers);
  inputs.watched = dispatch_is_watched() || !std::all_of(tensors.begin(), tensors.end(), is_plain);
  if (!inputs.watched) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      const ValuePlan::Input& input = plan.tensor_inputs()[i];
      check_input(plan.graph().value(input.value), plan.roots()[input.root].geometry,
                  inputs.symbols, tensors[i], i);
    }
    inputs.overlapping = overlaps(plan, tensors, inputs.symbols);
  }
  inputs.tensors = std::move(tensors);
  inputs.integers = std::move(integers);
  return inputs;
}

void bind_inputs(CallInputs& inputs, TorchValues& values) {
  const ValuePlan& plan = values.plan();
  values.symbols = std::move(inputs.symbols);
  values.capture_caller();
  for (size_t i = 0; i < inputs.tensors.size(); ++i) {
    values.set_root(plan.tensor_inputs()[i].root, std::move(inputs.tensors[i]));
  }
  if (inputs.watched) {
    values.watch();  // operators bump the versions themselves
  } else {
    values.bind_stand_ins();
    values.bump_versions();
  }
}

CallOutputs collect_outputs(TorchValues& values) {
  CallOutputs outputs;
  auto& [tensors, integers] = outputs;
  const Graph& graph = values.plan().graph();
  std::unordered_map<ValueId, at::Tensor> made;  // one object for one object of the user's program
  for (const Argument& output : graph.outputs) {
    if (const auto* value = std::get_if<ValueId>(&output.value)) {
      if (const HostType* host = graph.value(*value).host()) {
        integers.push_back(values.integer(host->value));
        continue;
      }
      at::Tensor& tensor = made[values.plan().place(*value).same_object];
      if (!tensor.defined()) tensor = values.output(*value);
      tensors.push_back(tensor);
    } else if (const auto* expr = std::get_if<Expr>(&output.value)) {
      integers.push_back(values.integer(*expr));
    }
  }
  return outputs;
}

}  // namespace anabranch::torch_backend
