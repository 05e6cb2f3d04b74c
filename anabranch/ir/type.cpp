#include "anabranch/ir/type.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "anabranch/base/diagnostic.h"
#include "anabranch/base/lexer.h"

namespace anabranch {
namespace {

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  size_t size;
};

constexpr std::array kDTypes{
    DTypeInfo{DType::Bool, "bool", 1},
    DTypeInfo{DType::U8, "u8", 1},
    DTypeInfo{DType::U16, "u16", 2},
    DTypeInfo{DType::U32, "u32", 4},
    DTypeInfo{DType::U64, "u64", 8},
    DTypeInfo{DType::I8, "i8", 1},
    DTypeInfo{DType::I16, "i16", 2},
    DTypeInfo{DType::I32, "i32", 4},
    DTypeInfo{DType::I64, "i64", 8},
    DTypeInfo{DType::F16, "f16", 2},
    DTypeInfo{DType::BF16, "bf16", 2},
    DTypeInfo{DType::F32, "f32", 4},
    DTypeInfo{DType::F64, "f64", 8},
    DTypeInfo{DType::F8E4M3FN, "f8e4m3fn", 1},
    DTypeInfo{DType::F8E5M2, "f8e5m2", 1},
    DTypeInfo{DType::F8E4M3FNUZ, "f8e4m3fnuz", 1},
    DTypeInfo{DType::F8E5M2FNUZ, "f8e5m2fnuz", 1},
    DTypeInfo{DType::C32, "c32", 4},
    DTypeInfo{DType::C64, "c64", 8},
    DTypeInfo{DType::C128, "c128", 16},
};

constexpr std::array<std::string_view, 3> kHostKinds{"int", "bool", "float"};

const DTypeInfo& info(DType dtype) { return kDTypes[static_cast<size_t>(dtype)]; }

std::vector<Expr> parse_list(Lexer& lexer, std::string_view open, std::string_view close) {
  std::vector<Expr> items;
  lexer.expect(open);
  while (!lexer.at(close)) {
    items.push_back(parse_expr(lexer));
    if (!lexer.accept(",")) break;
  }
  lexer.expect(close);
  return items;
}

std::string join(const std::vector<Expr>& items) {
  std::string text;
  for (const Expr& item : items) {
    if (!text.empty()) text += ',';
    text += to_string(item);
  }
  return text;
}

BufferId parse_buffer(Lexer& lexer) {
  lexer.expect("@");
  Token token = lexer.expect_kind(TokenKind::Word, "a buffer such as b3");
  uint32_t index = 0;
  const char* end = token.text.data() + token.text.size();
  auto result = std::from_chars(token.text.data() + 1, end, index);
  if (token.text[0] != 'b' || result.ec != std::errc() || result.ptr != end) {
    lexer.fail(fmt::format("expected a buffer such as b3, found {}", token.text));
  }
  return BufferId(index);
}

}  // namespace

std::string_view to_string(DType dtype) { return info(dtype).name; }

size_t size_of(DType dtype) { return info(dtype).size; }

DType parse_dtype(std::string_view name) {
  for (const DTypeInfo& entry : kDTypes) {
    if (entry.name == name) return entry.dtype;
  }
  std::vector<std::string_view> names;
  for (const DTypeInfo& entry : kDTypes) names.push_back(entry.name);
  throw Error("unknown-dtype", fmt::format("unknown dtype '{}'", name),
              fmt::format("one of: {}", fmt::join(names, ", ")));
}

bool TensorType::is_static() const {
  auto constant = [](const Expr& e) { return e.is_constant(); };
  return std::all_of(sizes.begin(), sizes.end(), constant) &&
         std::all_of(strides.begin(), strides.end(), constant) && offset.is_constant();
}

std::vector<Expr> contiguous_strides(const std::vector<Expr>& sizes) {
  std::vector<Expr> strides(sizes.size());
  Expr running = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = running;
    Expr size = sizes[i];
    if (size.is_constant() && size.constant() < 1) size = 1;
    if (!(size == Expr(1)))
      running = running == Expr(1) ? size : Expr::apply(ExprOp::Mul, size, running);
  }
  return strides;
}

std::string to_string(const Type& type) {
  if (const auto* host = std::get_if<HostType>(&type))
    return fmt::format("{}({})", kHostKinds[static_cast<size_t>(host->kind)],
                       to_string(host->value));
  const auto& tensor = std::get<TensorType>(type);
  std::string text = fmt::format("{}[{}]", to_string(tensor.dtype), join(tensor.sizes));
  if (tensor.strides != contiguous_strides(tensor.sizes))
    text += fmt::format("({})", join(tensor.strides));
  if (!(tensor.offset == Expr(0))) text += fmt::format("+{}", to_string(tensor.offset));
  text += fmt::format(" @b{}", tensor.buffer.index());
  if (tensor.conjugate) text += " conj";
  if (tensor.negative) text += " neg";
  return text;
}

Type parse_type(Lexer& lexer) {
  Token name = lexer.expect_kind(TokenKind::Word, "a type such as f32[4,8] @b0");
  auto kind = std::find(kHostKinds.begin(), kHostKinds.end(), name.text);
  // `bool` alone is a dtype.
  if (kind != kHostKinds.end() && (lexer.at("(") || name.text == "int")) {
    lexer.expect("(");
    HostType host{parse_expr(lexer), static_cast<HostKind>(kind - kHostKinds.begin())};
    lexer.expect(")");
    return host;
  }
  TensorType tensor;
  tensor.dtype = parse_dtype(name.text);
  tensor.sizes = parse_list(lexer, "[", "]");
  tensor.strides = lexer.at("(") ? parse_list(lexer, "(", ")") : contiguous_strides(tensor.sizes);
  if (tensor.strides.size() != tensor.sizes.size())
    lexer.fail("a tensor needs one stride per size");
  if (lexer.accept("+")) tensor.offset = parse_expr(lexer);
  tensor.buffer = parse_buffer(lexer);
  tensor.conjugate = lexer.accept_word("conj");
  tensor.negative = lexer.accept_word("neg");
  return tensor;
}

}  // namespace anabranch
