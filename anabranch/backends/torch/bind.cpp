#include "anabranch/backends/torch/bind.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <sstream>

#include "anabranch/backends/torch/literal.h"
#include "anabranch/base/diagnostic.h"
#include "anabranch/ir/step.h"

namespace anabranch::torch_backend {
namespace {

[[noreturn]] void fail(const Node& node, std::string rule, std::string message, std::string fix) {
  Diagnostic diagnostic{Severity::Error,
                        std::move(rule),
                        fmt::format("operator {}: {}", describe(node), message),
                        std::move(fix),
                        {}};
  if (node.source.known()) diagnostic.related.push_back(node.source);
  throw Error(std::move(diagnostic));
}

/// "aten.add.Tensor" → aten::add, overload "Tensor"; "mylib.op" and "mylib.op.default" have
/// overload "". Nothing for a name without a namespace.
std::optional<c10::OperatorName> operator_name(const Node& node) {
  size_t first = node.op.find('.');
  if (first == std::string::npos) return std::nullopt;
  size_t last = node.op.rfind('.');
  std::string overload = last == first ? "" : node.op.substr(last + 1);
  std::string base = node.op.substr(first + 1, last == first ? last : last - first - 1);
  if (overload == "default") overload.clear();
  return c10::OperatorName{node.op.substr(0, first) + "::" + base, overload};
}

c10::OperatorHandle require_operator(const Node& node) {
  if (auto handle = find_operator(node)) return *handle;
  auto name = operator_name(node);
  if (!name) {
    fail(node, "unknown-operator", "its name has no namespace",
         "name operators as torch does: aten.add.Tensor, mylib.op.default");
  }
  fail(node, "unknown-operator", fmt::format("torch has no operator {}", c10::toString(*name)),
       "import the library that defines it before the model is compiled");
}

std::string text_of(const c10::FunctionSchema& schema) {
  std::ostringstream text;
  text << schema;
  return text.str();
}

/// True if the argument can only be completed in a call: it holds a value or a symbolic size.
bool is_dynamic(const Argument& argument) {
  if (std::holds_alternative<ValueId>(argument.value)) return true;
  if (const auto* expr = std::get_if<Expr>(&argument.value)) return !expr->is_constant();
  const auto* list = std::get_if<ArgumentList>(&argument.value);
  return list && std::any_of(list->begin(), list->end(), is_dynamic);
}

}  // namespace

std::optional<c10::OperatorHandle> find_operator(const Node& node) {
  auto name = operator_name(node);
  return name ? c10::Dispatcher::singleton().findSchema(*name) : std::nullopt;
}

bool is_foreign(const Node& node) {
  std::string_view op = node.op;
  return !op.starts_with("aten.") && !op.starts_with("prims.") &&
         !op.starts_with("_c10d_functional.") && !step::is_step(op);
}

/// Fills the argument template of one operator.
class BoundOperator::Binder {
 public:
  Binder(const Graph& graph, const Node& node, BoundOperator& bound)
      : graph_(graph), node_(node), schema_(bound.handle_.schema()), bound_(bound) {}

  void bind() {
    try {
      bind_arguments();
    } catch (const Mismatch& error) {
      fail(node_, "bad-argument",
           fmt::format("argument {}: {}\n  schema: {}", argument_, error.what(), text_of(schema_)),
           "the arguments must fit the operator's schema");
    } catch (const c10::Error& error) {
      fail(node_, "bad-argument",
           fmt::format("argument {}: {}\n  schema: {}", argument_, error.what_without_backtrace(),
                       text_of(schema_)),
           "the arguments must fit the operator's schema");
    }
  }

 private:
  void bind_arguments() {
    const std::vector<c10::Argument>& formal = schema_.arguments();
    std::vector<const Argument*> given(formal.size(), nullptr);
    size_t position = 0;
    for (const Operand& operand : node_.operands) {
      size_t index = operand.name.empty() ? position++ : find(operand.name);
      argument_ = operand.name.empty() ? fmt::format("number {}", index) : operand.name;
      if (index >= formal.size()) throw Mismatch("the schema has no such argument");
      if (given[index]) throw Mismatch("it is given twice");
      if (operand.name.empty() && formal[index].kwarg_only())
        throw Mismatch("it must be given by name");
      given[index] = &operand.value;
    }
    bound_.arguments_.resize(formal.size());
    for (size_t i = 0; i < formal.size(); ++i) {
      argument_ = formal[i].name();
      if (given[i]) {
        bind_argument(i, *given[i], formal[i]);
      } else if (formal[i].default_value()) {
        bound_.arguments_[i] = *formal[i].default_value();
      } else {
        throw Mismatch("it is missing and has no default");
      }
    }
  }

  size_t find(const std::string& name) const {
    auto index = schema_.argumentIndexWithName(name);
    return index ? static_cast<size_t>(*index) : schema_.arguments().size();
  }

  void bind_argument(size_t position, const Argument& argument, const c10::Argument& formal) {
    if (is_dynamic(argument)) {
      bound_.fills_.push_back(make_fill(position, argument, formal));
    } else {
      bound_.arguments_[position] =
          convert_literal(argument, formal.real_type(), formal.N().value_or(0));
    }
  }

  Fill make_fill(size_t position, const Argument& argument, const c10::Argument& formal) const {
    c10::TypePtr type = without_optional(formal.real_type());
    Fill fill{position, FillKind::Tensor, {}};
    const auto* list = std::get_if<ArgumentList>(&argument.value);
    if (type->kind() == c10::TypeKind::ListType) {
      c10::TypePtr element = type->castRaw<c10::ListType>()->getElementType();
      bool optional = element->kind() == c10::TypeKind::OptionalType;
      c10::TypePtr inner = without_optional(element);
      bool tensors = inner->kind() == c10::TypeKind::TensorType;
      fill.kind = !tensors   ? FillKind::Integers
                  : optional ? FillKind::OptionalTensors
                             : FillKind::Tensors;
      if (!tensors && !is_integer_type(*inner)) mismatch(argument, *type);
      if (list) {
        for (const Argument& item : *list) fill.items.push_back(make_item(item, tensors, optional));
      } else if (formal.N()) {
        fill.items.assign(static_cast<size_t>(*formal.N()), make_item(argument, tensors, optional));
      } else {
        mismatch(argument, *type);
      }
      return fill;
    }
    if (list) mismatch(argument, *type);
    bool tensor = value_is_tensor(argument);
    fill.items.push_back(make_item(argument, tensor, false));
    fill.kind = kind_of(argument, *type, tensor);
    return fill;
  }

  FillKind kind_of(const Argument& argument, const c10::Type& type, bool tensor) const {
    if (type.kind() == c10::TypeKind::TensorType)
      return tensor ? FillKind::Tensor : FillKind::NumberTensor;
    if (!tensor) {
      if (is_integer_type(type)) return FillKind::Integer;
      if (type.kind() == c10::TypeKind::NumberType) return FillKind::Number;
      if (type.kind() == c10::TypeKind::FloatType || type.kind() == c10::TypeKind::SymFloatType) {
        return FillKind::Real;
      }
      if (type.kind() == c10::TypeKind::BoolType || type.kind() == c10::TypeKind::SymBoolType) {
        return FillKind::Flag;
      }
    }
    mismatch(argument, type);
  }

  bool value_is_tensor(const Argument& argument) const {
    const auto* value = std::get_if<ValueId>(&argument.value);
    return value && graph_.value(*value).tensor();
  }

  Item make_item(const Argument& argument, bool tensor, bool optional) const {
    Item item;
    if (const auto* value = std::get_if<ValueId>(&argument.value)) {
      const Value& known = graph_.value(*value);
      if (tensor != (known.tensor() != nullptr)) {
        throw Mismatch(fmt::format("%{} is {}", known.name, tensor ? "an integer" : "a tensor"));
      }
      if (tensor) {
        item.value = *value;
      } else {
        item.integer = known.host()->value;
        item.real = known.host()->kind == HostKind::Float;
      }
      return item;
    }
    if (tensor) {
      if (optional && std::holds_alternative<None>(argument.value)) return item;
      throw Mismatch(fmt::format("{} was given where a tensor is expected",
                                 torch_backend::describe(argument)));
    }
    if (const auto* expr = std::get_if<Expr>(&argument.value)) {
      item.integer = *expr;
    } else {
      item.integer = convert_literal(argument, c10::IntType::get(), 0).toInt();
    }
    return item;
  }

  [[noreturn]] void mismatch(const Argument& argument, const c10::Type& type) const {
    const auto* value = std::get_if<ValueId>(&argument.value);
    std::string found = value ? fmt::format("%{}, {}", graph_.value(*value).name,
                                            to_string(graph_.value(*value).type))
                              : torch_backend::describe(argument);
    throw Mismatch(fmt::format("{} was given where {} is expected", found, type.str()));
  }

  const Graph& graph_;
  const Node& node_;
  const c10::FunctionSchema& schema_;
  BoundOperator& bound_;
  std::string argument_ = "list";
};

namespace {

/// True if the tensors among the operands choose the dense CPU backend and nothing before it.
bool dispatches_to_cpu(const Graph& graph, NodeId id) {
  bool tensors = false;
  for (ValueId operand : graph.value_operands(id)) {
    const TensorType* type = graph.value(operand).tensor();
    if (!type) continue;
    if (type->conjugate || type->negative) return false;
    tensors = true;
  }
  return tensors;
}

}  // namespace

BoundOperator::BoundOperator(const Graph& graph, NodeId id)
    : handle_(require_operator(graph.node(id))) {
  const Node& node = graph.node(id);
  Binder(graph, node, *this).bind();
  results_ = node.results;
  foreign_ = is_foreign(node);
  direct_ = !foreign_ && dispatches_to_cpu(graph, id) &&
            !handle_.hasKernelForDispatchKey(c10::DispatchKey::BackendSelect);
  reshapes_operand_ = handle_.hasTag(at::Tag::inplace_view);
}

c10::Scalar BoundOperator::number(const Item& item, const OperandSource& source) {
  int64_t bits = source.integer(item.integer);
  if (item.real) return c10::Scalar(std::bit_cast<double>(bits));
  if (item.integer.is_condition()) return c10::Scalar(bits != 0);
  return c10::Scalar(bits);
}

c10::IValue BoundOperator::complete(const Fill& fill, const OperandSource& source) {
  switch (fill.kind) {
    case FillKind::Tensor: return source.tensor(fill.items[0].value);
    case FillKind::Integer: return source.integer(fill.items[0].integer);
    case FillKind::Real: return number(fill.items[0], source).toDouble();
    case FillKind::Flag: return number(fill.items[0], source).toBool();
    case FillKind::Number: return number(fill.items[0], source);
    case FillKind::NumberTensor: return wrapped_number(number(fill.items[0], source));
    case FillKind::Tensors: {
      c10::List<at::Tensor> list;
      list.reserve(fill.items.size());
      for (const Item& item : fill.items) list.push_back(source.tensor(item.value));
      return list;
    }
    case FillKind::OptionalTensors: {
      c10::List<std::optional<at::Tensor>> list;
      list.reserve(fill.items.size());
      for (const Item& item : fill.items) {
        list.push_back(item.value.valid() ? std::optional(source.tensor(item.value))
                                          : std::nullopt);
      }
      return list;
    }
    case FillKind::Integers: {
      c10::List<int64_t> list;
      list.reserve(fill.items.size());
      for (const Item& item : fill.items) list.push_back(source.integer(item.integer));
      return list;
    }
  }
  return {};
}

bool BoundOperator::is_fixed(const Fill& fill, const OperandSource& source) {
  bool tensors = fill.kind == FillKind::Tensor || fill.kind == FillKind::Tensors ||
                 fill.kind == FillKind::OptionalTensors;
  return std::all_of(fill.items.begin(), fill.items.end(), [&](const Item& item) {
    if (!tensors) return item.integer.is_constant();
    return !item.value.valid() || source.fixed(item.value);
  });
}

BoundOperator::Prepared BoundOperator::prepare(const OperandSource& source) const {
  Prepared prepared{arguments_, false, {}};
  for (size_t i = 0; i < fills_.size(); ++i) {
    if (is_fixed(fills_[i], source)) {
      prepared.arguments[fills_[i].position] = complete(fills_[i], source);
    } else {
      prepared.varying.push_back(static_cast<uint32_t>(i));
    }
  }
  prepared.results = calls_into() && std::all_of(results_.begin(), results_.end(),
                                                 [&](ValueId v) { return source.fixed(v); });
  if (prepared.results) {
    for (ValueId result : results_) prepared.arguments.emplace_back(source.tensor(result));
  }
  return prepared;
}

void BoundOperator::push_arguments(torch::jit::Stack& stack, const Prepared& prepared,
                                   const OperandSource& source) const {
  size_t base = stack.size();
  stack.insert(stack.end(), prepared.arguments.begin(), prepared.arguments.end());
  for (uint32_t i : prepared.varying)
    stack[base + fills_[i].position] = complete(fills_[i], source);
}

void BoundOperator::push_arguments(torch::jit::Stack& stack, const OperandSource& source) const {
  size_t base = stack.size();
  stack.insert(stack.end(), arguments_.begin(), arguments_.end());
  for (const Fill& fill : fills_) stack[base + fill.position] = complete(fill, source);
}

}  // namespace anabranch::torch_backend
