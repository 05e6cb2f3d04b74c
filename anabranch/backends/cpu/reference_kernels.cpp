#include "anabranch/backends/cpu/reference_kernels.h"

#include <fmt/format.h>

#include <algorithm>

#include "anabranch/ir/uses.h"

namespace anabranch {
namespace {

// What released memory is filled with: no test computes it.
constexpr int64_t kPoison = -0x2152411021524111;  // 0xdeadbeefdeadbeef

ValueId find_value(const Graph& graph, std::string_view name) {
  for (size_t i = 0; i < graph.values.size(); ++i) {
    if (graph.values[i].name == name) return ValueId(i);
  }
  throw Error("unknown-value", fmt::format("the graph \"{}\" has no value %{}", graph.name, name));
}

std::vector<int64_t> evaluate(const std::vector<Expr>& exprs, const SymbolTable& symbols) {
  std::vector<int64_t> numbers;
  for (const Expr& expr : exprs) numbers.push_back(expr.evaluate(symbols));
  return numbers;
}

/// A map's places must exist before streams use them at once.
void add_generators(const Graph& graph, std::map<std::string, uint64_t>& generators) {
  for (const Node& node : graph.nodes) {
    for (const Effect& effect : node.effects) {
      if (effect.kind == EffectKind::Random) generators[effect.resource] = 0;
    }
    for (const auto& body : node.bodies) add_generators(*body, generators);
  }
}

/// Elements of the buffer up to the last one that the window touches.
size_t extent(const TensorType& type, const SymbolTable& symbols) {
  int64_t last = type.offset.evaluate(symbols);
  for (size_t d = 0; d < type.sizes.size(); ++d) {
    int64_t size = type.sizes[d].evaluate(symbols);
    if (size == 0) return 0;
    last += std::max<int64_t>(0, (size - 1) * type.strides[d].evaluate(symbols));
  }
  return static_cast<size_t>(last + 1);
}

/// Elements of the whole buffer: every window on it must fit.
size_t buffer_extent(const Graph& graph, BufferId buffer, const SymbolTable& symbols) {
  size_t count = 0;
  for (const Value& value : graph.values) {
    const TensorType* type = value.tensor();
    if (type && type->buffer == buffer) count = std::max(count, extent(*type, symbols));
  }
  return count;
}

ReferenceWindow make_window(std::span<int64_t> elements, const TensorType& type,
                            const SymbolTable& symbols) {
  return {elements.data() + type.offset.evaluate(symbols), evaluate(type.sizes, symbols),
          evaluate(type.strides, symbols)};
}

}  // namespace

size_t ReferenceWindow::count() const {
  size_t count = 1;
  for (int64_t size : sizes) count *= static_cast<size_t>(size);
  return count;
}

int64_t& ReferenceWindow::at(size_t i) const {
  int64_t place = 0;
  for (size_t d = sizes.size(); d-- > 0;) {
    auto size = static_cast<size_t>(sizes[d]);
    place += static_cast<int64_t>(i % size) * strides[d];
    i /= size;
  }
  return base[place];
}

void ReferenceValues::set(std::string_view name, const std::vector<int64_t>& elements) {
  const TensorType& type = *graph_->value(find_value(*graph_, name)).tensor();
  Buffer& buffer = buffers_[type.buffer.index()];
  if (!buffer.made) make(type.buffer);
  ReferenceWindow window = make_window(buffer.elements, type, symbols);
  if (window.count() != elements.size()) {
    throw Error("bad-argument",
                fmt::format("%{} has {} elements, not {}", name, window.count(), elements.size()));
  }
  for (size_t i = 0; i < elements.size(); ++i) window.at(i) = elements[i];
}

std::vector<int64_t> ReferenceValues::get(std::string_view name) const {
  const TensorType& type = *graph_->value(find_value(*graph_, name)).tensor();
  const Buffer& buffer = buffers_[type.buffer.index()];
  if (!buffer.made) throw Error("unknown-value", fmt::format("%{} was not computed", name));
  std::vector<int64_t> copy(buffer.elements.begin(), buffer.elements.end());
  ReferenceWindow window = make_window(copy, type, symbols);
  std::vector<int64_t> elements;
  for (size_t i = 0; i < window.count(); ++i) elements.push_back(window.at(i));
  return elements;
}

void ReferenceValues::make(BufferId id) {
  Buffer& buffer = buffers_[id.index()];
  size_t count = buffer_extent(*graph_, id, symbols);
  if (const auto& placement = layout_->of(id)) {
    auto offset = static_cast<size_t>(placement->offset) / sizeof(int64_t);
    buffer.elements = std::span(arena_).subspan(offset, count);
    std::fill(buffer.elements.begin(), buffer.elements.end(), 0);
  } else {
    buffer.own.assign(count, 0);
    buffer.elements = buffer.own;
  }
  buffer.made = true;
}

std::vector<std::string> ReferenceValues::violations() const {
  std::lock_guard lock(violations_mutex_);
  return violations_;
}

void ReferenceValues::violate(std::string what) const {
  std::lock_guard lock(violations_mutex_);
  violations_.push_back(std::move(what));
}

ReferenceCall::ReferenceCall(const Graph& graph, NodeId node, ReferenceValues& values)
    : graph_(graph), node_(graph.node(node)), values_(values) {}

void ReferenceCall::fail(const std::string& message) const {
  throw Error(Diagnostic{Severity::Error,
                         "bad-argument",
                         fmt::format("{}: {}", describe(node_), message),
                         {},
                         {node_.source}});
}

bool ReferenceCall::is_value(size_t operand) const {
  return operand < node_.operands.size() &&
         std::holds_alternative<ValueId>(node_.operands[operand].value.value);
}

int64_t ReferenceCall::integer(size_t operand) const {
  if (operand >= node_.operands.size()) fail(fmt::format("argument {} is missing", operand));
  const Argument::Storage& value = node_.operands[operand].value.value;
  if (const auto* literal = std::get_if<int64_t>(&value)) return *literal;
  if (const auto* expr = std::get_if<Expr>(&value)) return expr->evaluate(values_.symbols);
  fail(fmt::format("argument {} is not an integer", operand));
}

std::string ReferenceCall::text(size_t operand) const {
  if (operand < node_.operands.size()) {
    const Argument::Storage& value = node_.operands[operand].value.value;
    if (const auto* literal = std::get_if<std::string>(&value)) return *literal;
  }
  fail(fmt::format("argument {} is not a text", operand));
}

ReferenceWindow ReferenceCall::input(size_t operand) {
  if (!is_value(operand)) fail(fmt::format("argument {} is not a tensor", operand));
  return window(std::get<ValueId>(node_.operands[operand].value.value));
}

ReferenceWindow ReferenceCall::also_read(size_t index) {
  if (index >= node_.reads.size()) fail(fmt::format("it has no reads({})", index));
  return window(node_.reads[index]);
}

ReferenceWindow ReferenceCall::result(size_t index) {
  if (index >= node_.results.size()) fail(fmt::format("there is no result {}", index));
  const TensorType* type = graph_.value(node_.results[index]).tensor();
  if (!type) fail(fmt::format("result {} is not a tensor", index));
  ReferenceValues::Buffer& buffer = values_.buffers_[type->buffer.index()];
  if (!buffer.made && buffer.releases == 0) values_.make(type->buffer);
  return window(node_.results[index]);
}

ReferenceWindow ReferenceCall::window(ValueId value) {
  const TensorType* type = graph_.value(value).tensor();
  if (!type) fail(fmt::format("%{} is not a tensor", graph_.value(value).name));
  ReferenceValues::Buffer& buffer = values_.buffers_[type->buffer.index()];
  if (!buffer.made) {
    std::string what =
        fmt::format("b{} used by {} {}", type->buffer.index(), node_.name,
                    buffer.releases > 0 ? "after its release" : "before it was made");
    values_.violate(what);
    fail(what);
  }
  return make_window(buffer.elements, *type, values_.symbols);
}

class ReferenceLauncher : public Launcher {
 public:
  ReferenceLauncher(const Graph& graph, const std::vector<ReferenceOperator>& code,
                    ReferenceValues& values)
      : graph_(graph), code_(code), values_(values) {}

  void launch(NodeId node, int) override {
    ReferenceCall call(graph_, node, values_);
    code_[node.index()](call);
  }

 private:
  const Graph& graph_;
  const std::vector<ReferenceOperator>& code_;
  ReferenceValues& values_;
};

class LoadedReferenceKernels : public LoadedKernels {
 public:
  LoadedReferenceKernels(const Graph& graph, MemoryLayout layout,
                         std::vector<ReferenceOperator> code)
      : graph_(graph), layout_(std::move(layout)), code_(std::move(code)) {}

  std::unique_ptr<CallValues> make_values() const override {
    auto values = std::make_unique<ReferenceValues>();
    values->graph_ = &graph_;
    values->layout_ = &layout_;
    values->arena_.resize(static_cast<size_t>(layout_.arena_bytes) / sizeof(int64_t));
    values->buffers_.resize(graph_.buffer_count);
    add_generators(graph_, values->generators);
    return values;
  }

  void on_thread(CallValues& values, const Walk& walk) const override {
    ReferenceLauncher launcher(graph_, code_, static_cast<ReferenceValues&>(values));
    walk(launcher);
  }

  void release(BufferId id, CallValues& values) const noexcept override {
    auto& reference = static_cast<ReferenceValues&>(values);
    ReferenceValues::Buffer& buffer = reference.buffers_[id.index()];
    if (buffer.releases++ > 0) reference.violate(fmt::format("b{} released twice", id.index()));
    // Poison for whoever kept a pointer, really freed for the address sanitizer.
    std::fill(buffer.elements.begin(), buffer.elements.end(), kPoison);
    std::vector<int64_t>().swap(buffer.own);
    buffer.elements = {};
    buffer.made = false;
  }

  void clear(CallValues& values) const noexcept override {
    auto& reference = static_cast<ReferenceValues&>(values);
    for (ReferenceValues::Buffer& buffer : reference.buffers_) buffer = {};
    reference.log.clear();
    for (auto& [name, state] : reference.generators) state = 0;
    reference.symbols.clear();
    reference.violations_.clear();
  }

 private:
  const Graph& graph_;
  MemoryLayout layout_;
  std::vector<ReferenceOperator> code_;  // by NodeId; empty for what is not launched
};

void ReferenceKernels::define(std::string name, ReferenceOperator code) {
  operators_[std::move(name)] = std::move(code);
}

std::vector<bool> ReferenceKernels::placeable(const Graph& graph) const {
  std::vector<bool> placeable(graph.buffer_count, true);
  for (const Value& value : graph.values) {
    const TensorType* type = value.tensor();
    if (type && type->dtype != DType::I64) placeable[type->buffer.index()] = false;
  }
  return placeable;
}

std::unique_ptr<LoadedKernels> ReferenceKernels::load(const Graph& graph,
                                                      const MemoryLayout& layout) {
  std::vector<ReferenceOperator> code(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.kind != NodeKind::Operator) continue;
    auto found = operators_.find(node.op);
    if (found == operators_.end()) {
      throw Error(Diagnostic{Severity::Error,
                             "unknown-operator",
                             fmt::format("there is no reference kernel for {}", describe(node)),
                             "use an operator of backends/cpu/reference_kernels.h, or define it",
                             {node.source}});
    }
    code[i] = found->second;
  }
  return std::make_unique<LoadedReferenceKernels>(graph, layout, std::move(code));
}

}  // namespace anabranch
