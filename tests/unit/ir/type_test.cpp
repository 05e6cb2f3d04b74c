#include "anabranch/ir/type.h"

#include <gtest/gtest.h>

#include "anabranch/base/diagnostic.h"
#include "anabranch/base/lexer.h"

namespace anabranch {
namespace {

Type parse(std::string_view text) {
  Lexer lexer(text, "test");
  return parse_type(lexer);
}

TEST(DType, NamesAndSizes) {
  for (int i = 0; i <= static_cast<int>(DType::C128); ++i) {
    auto dtype = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(to_string(dtype)), dtype);
    EXPECT_GT(size_of(dtype), 0u);
  }
  EXPECT_EQ(size_of(DType::BF16), 2u);
  EXPECT_EQ(size_of(DType::C64), 8u);
  EXPECT_THROW(parse_dtype("float"), Error);
}

TEST(Type, TextsReadBack) {
  for (const char* text :
       {"f16[4,8] @b3", "f16[4,8](1,4) @b3", "f16[4,8](8,1)+16 @b3", "f32[] @b0", "i64[0,3] @b1",
        "c64[2] @b1 conj", "c64[2] @b1 conj neg", "f32[s0,(s0*2)]+(s0*4) @b2", "f32[s0](2) @b2",
        "int(4)", "int((s0*2))", "bool(u0)", "float(z0)", "bool[2] @b0"}) {
    std::string expected = text;
    if (expected == "f16[4,8](8,1)+16 @b3") expected = "f16[4,8]+16 @b3";
    EXPECT_EQ(to_string(parse(text)), expected);
  }
}

TEST(Type, ContiguousStrides) {
  auto strides = contiguous_strides({Expr(2), Expr(1), Expr(3)});
  EXPECT_EQ(strides, (std::vector<Expr>{Expr(3), Expr(3), Expr(1)}));
  EXPECT_EQ(contiguous_strides({Expr(2), Expr(0)}), (std::vector<Expr>{Expr(1), Expr(1)}));
}

TEST(Type, Errors) {
  EXPECT_THROW(parse("f32[4](1,2) @b0"), Error);
  EXPECT_THROW(parse("f32[4] @c0"), Error);
  EXPECT_THROW(parse("f32[4]"), Error);
  EXPECT_THROW(parse("f99[4] @b0"), Error);
  EXPECT_THROW(parse("f32[4 @b0"), Error);
}

}  // namespace
}  // namespace anabranch
