#include "anabranch/analysis/cost.h"

#include <gtest/gtest.h>

#include "anabranch/ir/text.h"

namespace anabranch {
namespace {

NodeId find(const Graph& graph, const std::string& name) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].name == name) return NodeId(i);
  }
  ADD_FAILURE() << "no operator " << name;
  return NodeId(0);
}

Graph example() {
  return parse_graph(R"(anabranch 1
    graph "g" {
      %x = input : f32[8,16] @b0
      %w = input : f32[16,32] @b1
      %q = input : f32[2,4,8,16] @b2
      %i = input : f32[1,3,10,10] @b3
      %k = input : f32[5,3,3,3] @b4
      %h = input : f16[8,8] @b5
      %s = input : f32[s0,4] @b6
      %mm = aten.mm.default(%x, %w) : f32[8,32] @b7
      %addmm = aten.addmm.default(%mm, %x, %w) : f32[8,32] @b8
      %conv = aten.convolution.default(%i, %k, none, [1,1], [0,0], [1,1], false, [0,0], 1)
          : f32[1,5,8,8] @b9
      %att = aten.scaled_dot_product_attention.default(%q, %q, %q) : f32[2,4,8,16] @b10
      %half = aten.mm.default(%h, %h) : f16[8,8] @b11
      %add = aten.add_.Tensor(%x, 1) writes(%x) : f32[8,16] @b0
      %svd = aten.linalg_svd.default(%x) : f32[8,8] @b12
      %mine = mylib.relu.default(%x) : f32[8,16] @b13
      %relu = aten.relu.default(%s) : f32[s0,4] @b14
      %all = "_c10d_functional.all_reduce.default"(%x, "sum", "0") effects(collective "0")
          : f32[8,16] @b15
      %wait = wait(%x) : f32[8,16] @b0
      return %mm
    })");
}

TEST(Cost, FlopsOfTheMatrixUnitFromShapes) {
  Graph graph = example();
  CostModel costs(graph, {});
  auto flops = [&](const char* name) { return costs.cost(find(graph, name)).flops; };
  EXPECT_EQ(flops("mm"), 2 * 8 * 32 * 16);
  EXPECT_EQ(flops("addmm"), 2 * 8 * 32 * 16);
  EXPECT_EQ(flops("conv"), 2 * (5 * 8 * 8) * (3 * 3 * 3));
  EXPECT_EQ(flops("att"), 2 * (2 * 4 * 8) * 8 * (16 + 16));
  EXPECT_EQ(costs.cost(find(graph, "mm")).bytes, 4 * (8 * 16 + 16 * 32 + 8 * 32));
  EXPECT_EQ(costs.cost(find(graph, "mm")).operator_class, OperatorClass::Cube);
}

TEST(Cost, KnownOnlyWhereTheTimeIsTheOperatorsOwn) {
  Graph graph = example();
  CostModel costs(graph, {});
  for (const char* name : {"mm", "conv", "att", "half", "add", "wait"})
    EXPECT_TRUE(costs.cost(find(graph, name)).known) << name;
  // no formula, another library, a symbolic size, other processes
  for (const char* name : {"svd", "mine", "relu", "all"})
    EXPECT_FALSE(costs.cost(find(graph, name)).known) << name;
}

TEST(Cost, ASymbolCountsAsTheHint) {
  Graph graph = example();
  CostModel costs(graph, {});
  EXPECT_EQ(costs.cost(find(graph, "relu")).bytes, 2.0 * 4 * 4 * kSymbolHint);
}

TEST(Cost, TheLongerOfArithmeticAndTrafficPlusTheLaunch) {
  Graph graph = parse_graph(R"(anabranch 1
    graph "g" {
      %x = input : f32[1000,1000] @b0
      %h = input : f16[1000,1000] @b1
      %relu = aten.relu.default(%x) : f32[1000,1000] @b2
      %mm = aten.mm.default(%x, %x) : f32[1000,1000] @b3
      %half = aten.mm.default(%h, %h) : f16[1000,1000] @b4
      return %relu
    })");
  DeviceProfile profile;
  profile.cores = 4;
  CostModel costs(graph, profile);
  auto ns = [&](const char* name, int threads) {
    return costs.nanoseconds(find(graph, name), threads);
  };
  EXPECT_DOUBLE_EQ(ns("relu", 1), profile.launch_ns + 8e6 / profile.core_bandwidth);
  // two cores use up the bandwidth, and a region of threads has to be opened
  EXPECT_DOUBLE_EQ(ns("relu", 2), profile.launch_ns + profile.threading_ns + 8e6 / 16);
  EXPECT_DOUBLE_EQ(ns("relu", 4), ns("relu", 2));
  EXPECT_DOUBLE_EQ(ns("mm", 1), profile.launch_ns + 2e9 / profile.cube_f32);
  EXPECT_DOUBLE_EQ(ns("mm", 0),
                   profile.launch_ns + profile.threading_ns + 2e9 / (profile.cube_f32 * 4));
  // half precision has one thread whatever it is given
  EXPECT_DOUBLE_EQ(ns("half", 1), profile.launch_ns + 2e9 / profile.cube_narrow);
  EXPECT_DOUBLE_EQ(ns("half", 0), ns("half", 1));
}

TEST(Cost, MeasuredDurationsReplaceTheEstimate) {
  Graph graph = example();
  DeviceProfile profile;
  profile.cores = 2;
  CostModel costs(graph, profile, {{"mm", {5000, 0}}, {"mine", {7000, 1}}});
  EXPECT_EQ(costs.nanoseconds(find(graph, "mm"), 0), 5000);
  EXPECT_EQ(costs.nanoseconds(find(graph, "mine"), 1), 7000);
  CostModel estimated(graph, profile);
  EXPECT_EQ(costs.nanoseconds(find(graph, "half"), 1),
            estimated.nanoseconds(find(graph, "half"), 1));
}

TEST(Cost, AMeasurementIsScaledToOtherThreads) {
  Graph graph = parse_graph(R"(anabranch 1
    graph "g" {
      %x = input : f32[4000,4000] @b0
      %mm = aten.mm.default(%x, %x) : f32[4000,4000] @b1
      return %mm
    })");
  DeviceProfile profile;
  profile.cores = 2;
  CostModel costs(graph, profile, {{"mm", {1e6, 2}}});
  EXPECT_NEAR(costs.nanoseconds(find(graph, "mm"), 1), 2e6, 1e4);
}

TEST(Cost, MediansOfOneProgramsSpans) {
  Timeline timeline;
  auto span = [&](const char* program, const char* name, int64_t begin, int64_t end) {
    TimelineSpan made;
    made.program = program;
    made.name = name;
    made.begin = begin;
    made.end = end;
    made.threads = 1;
    timeline.spans.push_back(made);
  };
  span("g", "mm", 0, 10);
  span("g", "mm", 20, 50);
  span("g", "mm", 60, 80);
  span("h", "mm", 100, 600);
  MeasuredDurations measured = measured_durations(timeline, "g");
  ASSERT_EQ(measured.size(), 1u);
  EXPECT_EQ(measured.at("mm").ns, 20);
  EXPECT_EQ(measured.at("mm").threads, 1);
  EXPECT_EQ(measured_durations(timeline, "another").at("mm").ns, 30) << "all spans count";
}

}  // namespace
}  // namespace anabranch
