#include "anabranch/backends/torch/literal.h"

#include <ATen/ops/scalar_tensor.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <fmt/format.h>

#include <array>
#include <utility>

#include "anabranch/backends/torch/geometry.h"
#include "anabranch/base/lexer.h"

namespace anabranch::torch_backend {
namespace {

using c10::TypeKind;

[[noreturn]] void mismatch(const Argument& argument, const c10::Type& type) {
  throw Mismatch(fmt::format("{} was given where {} is expected", describe(argument), type.str()));
}

int64_t layout_number(const std::string& name) {
  constexpr std::array names{
      std::pair{"strided", c10::kStrided}, std::pair{"sparse_coo", c10::kSparse},
      std::pair{"sparse_csr", c10::kSparseCsr}, std::pair{"_mkldnn", c10::kMkldnn}};
  for (const auto& [known, layout] : names) {
    if (name == known) return static_cast<int64_t>(layout);
  }
  throw Mismatch(fmt::format("unknown layout \"{}\"", name));
}

int64_t memory_format_number(const std::string& name) {
  constexpr std::array names{std::pair{"contiguous_format", at::MemoryFormat::Contiguous},
                             std::pair{"preserve_format", at::MemoryFormat::Preserve},
                             std::pair{"channels_last", at::MemoryFormat::ChannelsLast},
                             std::pair{"channels_last_3d", at::MemoryFormat::ChannelsLast3d}};
  for (const auto& [known, format] : names) {
    if (name == known) return static_cast<int64_t>(format);
  }
  throw Mismatch(fmt::format("unknown memory format \"{}\"", name));
}

/// torch's integer for a dtype, layout or memory format; nothing for other arguments.
std::optional<int64_t> enumeration(const Argument& argument) {
  if (const auto* dtype = std::get_if<DType>(&argument.value)) {
    return static_cast<int64_t>(to_scalar_type(*dtype));
  }
  const auto* keyword = std::get_if<Keyword>(&argument.value);
  if (keyword && keyword->kind == "layout") return layout_number(keyword->name);
  if (keyword && keyword->kind == "memory_format") return memory_format_number(keyword->name);
  return std::nullopt;
}

std::optional<int64_t> integer(const Argument& argument) {
  if (const auto* value = std::get_if<int64_t>(&argument.value)) return *value;
  if (const auto* value = std::get_if<bool>(&argument.value)) return *value ? 1 : 0;
  const auto* expr = std::get_if<Expr>(&argument.value);
  if (expr && expr->is_constant()) return expr->constant();
  return enumeration(argument);
}

std::optional<c10::Scalar> number(const Argument& argument) {
  if (const auto* value = std::get_if<bool>(&argument.value)) return c10::Scalar(*value);
  if (const auto* value = std::get_if<double>(&argument.value)) return c10::Scalar(*value);
  if (const auto* value = std::get_if<std::complex<double>>(&argument.value)) {
    return c10::Scalar(c10::complex<double>(value->real(), value->imag()));
  }
  if (auto value = integer(argument)) return c10::Scalar(*value);
  return std::nullopt;
}

c10::IValue convert_device(const Argument& argument, const c10::Type& type) {
  const auto* keyword = std::get_if<Keyword>(&argument.value);
  const auto* text = std::get_if<std::string>(&argument.value);
  if (keyword && keyword->kind == "device") text = &keyword->name;
  if (!text) mismatch(argument, type);
  return c10::IValue(c10::Device(*text));
}

c10::IValue convert_list(const Argument& argument, const c10::TypePtr& element, int64_t length) {
  const auto* items = std::get_if<ArgumentList>(&argument.value);
  if (!items && length == 0) {
    throw Mismatch(fmt::format("{} was given where a list of {} is expected", describe(argument),
                               element->str()));
  }
  std::vector<c10::IValue> values;
  if (items) {
    for (const Argument& item : *items) values.push_back(convert_literal(item, element, 0));
  } else {
    values.assign(static_cast<size_t>(length), convert_literal(argument, element, 0));
  }
  c10::TypePtr stored = is_integer_type(*element) ? c10::TypePtr(c10::IntType::get())
                        : element->kind() == TypeKind::SymFloatType
                            ? c10::TypePtr(c10::FloatType::get())
                            : element;
  c10::impl::GenericList list(stored);
  list.reserve(values.size());
  for (c10::IValue& value : values) list.push_back(std::move(value));
  return c10::IValue(std::move(list));
}

}  // namespace

c10::TypePtr without_optional(const c10::TypePtr& type) {
  if (type->kind() == TypeKind::OptionalType)
    return type->castRaw<c10::OptionalType>()->getElementType();
  return type;
}

bool is_integer_type(const c10::Type& type) {
  switch (type.kind()) {
    case TypeKind::IntType:
    case TypeKind::SymIntType:
    case TypeKind::ScalarTypeType:
    case TypeKind::LayoutType:
    case TypeKind::MemoryFormatType: return true;
    default: return false;
  }
}

at::Tensor wrapped_number(const c10::Scalar& value) {
  // Made once at load and used in later calls, so it must be an ordinary tensor whatever mode the
  // thread that loads is in.
  c10::InferenceMode ordinary(false);
  c10::impl::ExcludeDispatchKeyGuard below(c10::python_ks);
  at::Tensor tensor = at::scalar_tensor(value, at::TensorOptions().dtype(value.type()));
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

c10::IValue convert_literal(const Argument& argument, const c10::TypePtr& type, int64_t length) {
  if (type->kind() == TypeKind::OptionalType) {
    if (std::holds_alternative<None>(argument.value)) return c10::IValue();
    return convert_literal(argument, without_optional(type), length);
  }
  if (is_integer_type(*type)) {
    if (auto value = integer(argument)) return c10::IValue(*value);
    mismatch(argument, *type);
  }
  switch (type->kind()) {
    case TypeKind::ListType:
      return convert_list(argument, type->castRaw<c10::ListType>()->getElementType(), length);
    case TypeKind::FloatType:
    case TypeKind::SymFloatType:
      if (const auto* real = std::get_if<double>(&argument.value)) return c10::IValue(*real);
      if (auto value = integer(argument)) return c10::IValue(static_cast<double>(*value));
      break;
    case TypeKind::BoolType:
    case TypeKind::SymBoolType:
      if (const auto* flag = std::get_if<bool>(&argument.value)) return c10::IValue(*flag);
      break;
    case TypeKind::NumberType:
    case TypeKind::ComplexType:
      if (auto value = number(argument)) return c10::IValue(*value);
      break;
    case TypeKind::TensorType:
      if (auto value = number(argument)) return c10::IValue(wrapped_number(*value));
      break;
    case TypeKind::StringType:
    case TypeKind::AnyType:  // collectives take their process group so, by name
      if (const auto* text = std::get_if<std::string>(&argument.value)) return c10::IValue(*text);
      break;
    case TypeKind::DeviceObjType: return convert_device(argument, *type);
    case TypeKind::NoneType:
      if (std::holds_alternative<None>(argument.value)) return c10::IValue();
      break;
    default: break;
  }
  mismatch(argument, *type);
}

namespace {

struct Describe {
  std::string operator()(const None&) const { return "none"; }
  std::string operator()(const ValueId&) const { return "a value"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return print_real(value); }
  std::string operator()(const std::complex<double>& value) const {
    return fmt::format("complex({}, {})", print_real(value.real()), print_real(value.imag()));
  }
  std::string operator()(const std::string& value) const { return quote(value); }
  std::string operator()(DType value) const { return fmt::format("dtype({})", to_string(value)); }
  std::string operator()(const Keyword& value) const {
    return fmt::format("{}({})", value.kind, quote(value.name));
  }
  std::string operator()(const Expr& value) const { return "{" + to_string(value) + "}"; }
  std::string operator()(const ArgumentList& items) const {
    std::string text = "[";
    for (const Argument& item : items) text += (text.size() > 1 ? ", " : "") + describe(item);
    return text + "]";
  }
};

}  // namespace

std::string describe(const Argument& argument) { return std::visit(Describe{}, argument.value); }

}  // namespace anabranch::torch_backend
