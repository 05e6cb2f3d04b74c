#include "anabranch/ir/uses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "anabranch/base/lexer.h"
#include "anabranch/ir/text.h"
#include "tests/unit/ir/two_halves.h"

namespace anabranch {
namespace {

using testing::HasSubstr;

ByteRange range_of(std::string_view text) {
  Lexer lexer(text, "test");
  return byte_range(std::get<TensorType>(parse_type(lexer)));
}

TEST(ByteRange, HullOfTheWindow) {
  EXPECT_EQ(range_of("f32[4,8] @b0"), (ByteRange{0, 128}));
  EXPECT_EQ(range_of("f32[4,8]+8 @b0"), (ByteRange{32, 160}));
  EXPECT_EQ(range_of("f16[4](10)+1 @b0"), (ByteRange{2, 64}));
  EXPECT_EQ(range_of("f32[4](0) @b0"), (ByteRange{0, 4}));
  EXPECT_EQ(range_of("f32[] @b0"), (ByteRange{0, 4}));
  EXPECT_TRUE(range_of("f32[4,0] @b0").empty());
  EXPECT_EQ(range_of("f32[s0] @b0"), ByteRange::whole());
  EXPECT_EQ(range_of("f32[4]+s0 @b0"), ByteRange::whole());
}

TEST(Conflicts, SameBytesAndAWriter) {
  Use read{BufferId(0), {0, 8}, Access::Read, {}};
  Use write{BufferId(0), {4, 12}, Access::Write, {}};
  Use beside{BufferId(0), {8, 12}, Access::Update, {}};
  Use elsewhere{BufferId(1), {0, 8}, Access::Update, {}};
  Use nothing{BufferId(0), {0, 0}, Access::Update, {}};
  EXPECT_TRUE(conflicts(read, write));
  EXPECT_TRUE(conflicts(write, beside));
  EXPECT_FALSE(conflicts(read, read));
  EXPECT_FALSE(conflicts(read, beside));
  EXPECT_FALSE(conflicts(write, elsewhere));
  EXPECT_FALSE(conflicts(nothing, nothing));
}

std::string text_of(const Graph& graph, size_t node) {
  UseTable uses(graph);
  std::string text;
  for (const Use& use : uses.of(NodeId(node))) {
    const char* access = use.access == Access::Read    ? "read"
                         : use.access == Access::Write ? "write"
                                                       : "update";
    text += std::string(access) + " " + uses.describe(graph, use.buffer) + "; ";
  }
  return text;
}

TEST(UseTable, OperandsWritesResultsAndEffects) {
  Graph graph = parse_graph(R"(anabranch 1
    graph "g" {
      %x = input : f32[4] @b0
      %y = input : f32[4] @b1
      %v = view slice(%x) : f32[2] @b0
      %a = add(%v, [%y]) : f32[2] @b2
      %b = add_(%a, %y) writes(%a) effects(random "cpu") : f32[2] @b2
      %w = wait(%b) : f32[2] @b2
      return %w
    })");
  EXPECT_EQ(text_of(graph, 0), "");
  EXPECT_EQ(text_of(graph, 2), "");
  EXPECT_EQ(text_of(graph, 3), "read buffer b0 (%x); read buffer b1 (%y); write buffer b2 (%a); ");
  EXPECT_EQ(text_of(graph, 4),
            "read buffer b1 (%y); update buffer b2 (%a); update the random generator \"cpu\"; ");
  EXPECT_EQ(text_of(graph, 5), "");
  EXPECT_EQ(UseTable(graph).of(NodeId(3))[0].range, (ByteRange{0, 8}));
}

TEST(UseTable, BodiesAddTheirEffectsAndWrites) {
  Graph graph = parse_graph(R"(anabranch 1
    graph "g" {
      %x = input : f32[4] @b0
      %c = cond(%x) body graph "plain" {
        %i = input : f32[4] @b0
        %t = add(%i) : f32[4] @b1
        %u = relu_(%t) writes(%t) : f32[4] @b1
        return %u
      } : f32[4] @b1
      %d = cond(%x) body graph "outer" {
        %i = input : f32[4] @b0
        ^k print(%i) effects(io "stdout")
        %j = cond(%i) body graph "inner" {
          %i = input : f32[4] @b0
          %u = relu_(%i) writes(%i) : f32[4] @b0
          return %u
        } : f32[4] @b1
        return %j
      } : f32[4] @b2
      return %c, %d
    })");
  EXPECT_EQ(text_of(graph, 1), "read buffer b0 (%x); write buffer b1 (%c); ");
  EXPECT_EQ(text_of(graph, 2),
            "update buffer b0 (%x); update the output \"stdout\"; write buffer b2 (%d); ");
}

// x must not change before the second half of the collective has ended
TEST(UseTable, MemoryInUseBesideTheOperands) {
  Graph graph = parse_graph(testing_support::kTwoHalves);
  EXPECT_EQ(text_of(graph, 2), "update buffer b1 (%g); read buffer b0 (%x); ");
  EXPECT_NE(print_graph(graph).find("writes(%g) reads(%x) : f32[8] @b1"), std::string::npos);
}

TEST(BufferRoots, FirstValueOfEachBuffer) {
  Graph graph = parse_graph(R"(anabranch 1
    graph "g" {
      %x = input : f32[4] @b1
      %v = view slice(%x) : f32[2] @b1
      return %v
    })");
  auto roots = buffer_roots(graph);
  EXPECT_FALSE(roots[0].valid());
  EXPECT_EQ(roots[1], ValueId(0));
}

}  // namespace
}  // namespace anabranch
