#include "anabranch/ir/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "anabranch/ir/text.h"

namespace anabranch {
namespace {

using testing::ElementsAre;

// b and c go; what stays is renumbered everywhere: operands in lists, writes, control, outputs.
TEST(EraseNodes, RenumbersEverything) {
  Graph graph = parse_graph(R"(anabranch 1
    graph "g" {
      %x = input : f32[2] @b0
      %b = add(%x) : f32[2] @b1
      %y = input : f32[2] @b2
      ^c touch(%x)
      %d = cat([%y, [%x]], k=%y) writes(%y) after(^x) : f32[2] @b3
      ^e touch(%d) after(effect ^d)
      return %d, %x
    })");
  graph.erase_nodes({false, true, false, true, false, false});
  EXPECT_EQ(print_graph(graph), R"(anabranch 1
graph "g" {
  %x = input : f32[2] @b0
  %y = input : f32[2] @b2
  %d = cat([%y, [%x]], k=%y) writes(%y) after(^x) : f32[2] @b3
  ^e touch(%d) after(effect ^d)
  return %d, %x
}
)");
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const Value& value = graph.values[i];
    EXPECT_EQ(graph.node(value.producer).results[value.result_index], ValueId(i));
  }
}

TEST(EraseNodes, NothingErasedChangesNothing) {
  std::string text = "anabranch 1\ngraph \"g\" {\n  %x = input : f32[2] @b0\n  return %x\n}\n";
  Graph graph = parse_graph(text);
  graph.erase_nodes({false});
  EXPECT_EQ(print_graph(graph), text);
}

TEST(Graph, ValueOperandsRepeatAsWritten) {
  Graph graph = parse_graph(R"(anabranch 1
    graph "g" {
      %x = input : f32[2] @b0
      %y = input : f32[2] @b1
      ^a op(%x, [%y, [%x]], 3, k=%y)
      return
    })");
  EXPECT_THAT(graph.value_operands(NodeId(2)),
              ElementsAre(ValueId(0), ValueId(1), ValueId(0), ValueId(1)));
}

TEST(Describe, NodesAndStreams) {
  Node node;
  node.name = "add_1";
  node.op = "aten.add.Tensor";
  EXPECT_EQ(describe(node), "add_1 (aten.add.Tensor)");
  EXPECT_EQ(describe(Stream{}), "the default stream");
  EXPECT_EQ(describe(Stream{"1", 0, true}), "stream \"1\"");
}

}  // namespace
}  // namespace anabranch
