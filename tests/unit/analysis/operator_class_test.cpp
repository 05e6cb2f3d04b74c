#include "anabranch/analysis/operator_class.h"

#include <gtest/gtest.h>

#include "anabranch/ir/text.h"

namespace anabranch {
namespace {

TEST(OperatorClass, MatricesConvolutionAndAttentionAreCube) {
  for (const char* op :
       {"aten.mm.default", "aten.bmm.out", "aten.addmm_.default", "aten.convolution.default",
        "aten._scaled_dot_product_flash_attention_for_cpu.default", "aten.lstm.input",
        "quantized.linear.default", "MatMul", "BatchMatMulV2", "Conv2D", "FlashAttentionScore"}) {
    EXPECT_EQ(operator_class(op), OperatorClass::Cube) << op;
  }
}

TEST(OperatorClass, EverythingElseIsVector) {
  for (const char* op : {"aten.add.Tensor", "aten.mul_.Tensor", "aten.sum.default",
                         "aten.dot.default", "_c10d_functional.all_reduce.default", "mylib.fast",
                         "Add", "Cast", "Identity", "mat", "", "_", ".", "aten."}) {
    EXPECT_EQ(operator_class(op), OperatorClass::Vector) << op;
  }
}

TEST(OperatorClass, AControlOperatorIsWhatItsBodiesHold) {
  Graph graph = parse_graph(R"(anabranch 1
    graph "g" {
      %p = input : bool[] @b0
      %x = input : f32[4,4] @b1
      %c = cond(%p, [%x])
        body graph "then" {
          %a = input : f32[4,4] @b0
          %m = aten.mm.default(%a, %a) : f32[4,4] @b1
          return %m
        }
        body graph "else" {
          %a = input : f32[4,4] @b0
          %n = aten.neg.default(%a) : f32[4,4] @b1
          return %n
        } : f32[4,4] @b2
      %v = view aten.t.default(%c) : f32[4,4](1,4) @b2
      return %v
    })");
  EXPECT_EQ(operator_class(graph.nodes[2]), OperatorClass::Cube);
  EXPECT_EQ(operator_class(graph.nodes[3]), OperatorClass::Vector);
  EXPECT_EQ(operator_class(*graph.nodes[2].bodies[1]->nodes.begin()), OperatorClass::Vector);
  EXPECT_EQ(to_string(OperatorClass::Cube), "cube");
  EXPECT_EQ(to_string(OperatorClass::Vector), "vector");
}

}  // namespace
}  // namespace anabranch
