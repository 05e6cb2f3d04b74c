#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "anabranch/ir/text.h"
#include "anabranch/passes/dependencies.h"
#include "anabranch/passes/pipeline.h"
#include "anabranch/passes/thread_sensitive.h"
#include "anabranch/schedule/text.h"
#include "tests/unit/analysis/random_graph.h"
#include "tests/unit/ir/two_halves.h"

namespace anabranch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// %view of %a, then a size from the host: c depends on a, item and the wait
TEST(RequiredPredecessors, LookThroughViewsAndSizesAndNameTheReason) {
  Graph graph = parse_graph(R"(anabranch 1
    graph "g" {
      %x = input : f32[4] @b0
      %a = add(%x) : f32[4] @b1
      %n = item(%a) : int(u0)
      %m = size : int((u0*2))
      ^side touch()
      %v = view slice(%a) : f32[2] @b1
      %c = cat([%v, %x], %m) after(^side) : f32[4] @b2
      return %c
    })");
  std::vector<std::string> found;
  for (const passes::CrossEdge& edge : passes::required_predecessors(graph, NodeId(6))) {
    found.push_back(graph.node(edge.from).name + ": " + edge.why);
  }
  EXPECT_THAT(found, ElementsAre("a: data %v", "n: data %m", "side: wait"));
}

TEST(RequiredPredecessors, ASizeSymbolComesFromTheOperatorThatMakesIt) {
  Graph graph = parse_graph(R"(anabranch 1
    graph "g" {
      %x = input : f32[s0] @b0
      %nz = nonzero(%x) : i64[u0,1] @b1
      %z = zeros([{u0*2}, {s0}]) : f32[(u0*2),s0] @b2
      return %z
    })");
  auto edges = passes::required_predecessors(graph, NodeId(2));
  ASSERT_EQ(edges.size(), 1u);
  EXPECT_EQ(edges[0].why, "data size");
}

// gather(x) @comm … wait @comm; relu_(x) @other => relu_ after the wait, not only after the launch
TEST(RequiredPredecessors, ACollectiveUsesItsOperandsUntilItsSecondHalf) {
  Graph graph = parse_graph(testing_support::kTwoHalves);
  passes::order_effects(graph);
  std::vector<std::string> found;
  for (const passes::CrossEdge& edge : passes::required_predecessors(graph, NodeId(3))) {
    found.push_back(graph.node(edge.from).name);
  }
  EXPECT_THAT(found, testing::Contains("w"));
}

TEST(AssignStreams, MixedPrioritiesWarnOnceAndTheSmallestWins) {
  Graph graph = parse_graph(R"(anabranch 1
    graph "g" {
      ^a op() {"_user_stream_label": "x", "_user_stream_priority": "2"} at "m.py" 3
      ^b op() {"_user_stream_label": "x", "_user_stream_priority": "-1"} at "m.py" 5
      ^c op() {"_user_stream_label": "x", "_user_stream_priority": "7"}
      return
    })");
  auto warnings = passes::assign_streams(graph, false);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].severity, Severity::Warning);
  EXPECT_EQ(graph.streams[1].priority, -1);
}

TEST(ThreadSensitive, FullReductionsAndDecodeAttention) {
  Graph graph = parse_graph(R"(anabranch 1
    graph "g" {
      %q1 = input : f32[1,8,1,64] @b0
      %q512 = input : f32[1,8,512,64] @b1
      %s = aten.sum.dim_IntList(%q1) : f32[] @b2
      %m = aten.mm.default(%q1) : f32[] @b3
      %d = aten.scaled_dot_product_attention.default(%q1) : f32[] @b4
      %p = aten.scaled_dot_product_attention.default(%q512) : f32[] @b5
      %t = aten.native_batch_norm.default(%q1, none, none, none, none, true, 0.1, 0.1) : f32[] @b6
      %e = aten.native_batch_norm.default(%q1, none, none, none, none, false, 0.1, 0.1) : f32[] @b7
      %g = aten.native_layer_norm_backward.default(%q1) : f32[] @b8
      return
    })");
  auto sensitive = [&](size_t i) { return passes::is_thread_sensitive(graph, graph.nodes[i]); };
  EXPECT_TRUE(sensitive(2));
  EXPECT_FALSE(sensitive(3));
  EXPECT_TRUE(sensitive(4));
  EXPECT_FALSE(sensitive(5));
  EXPECT_TRUE(sensitive(6));   // sums the batch
  EXPECT_FALSE(sensitive(7));  // uses the running statistics
  EXPECT_TRUE(sensitive(8));
}

TEST(Compile, IdleLabelsLeaveOneStream) {
  Graph graph = testing_support::random_graph(1);
  passes::PipelineOptions options;
  options.multi_stream = false;
  passes::Compiled compiled = passes::compile(std::move(graph), options);
  EXPECT_EQ(compiled.schedule.streams.size(), 1u);
  EXPECT_EQ(compiled.schedule.event_count, 0u);
}

TEST(Compile, SingleStreamRefusesLabels) {
  passes::PipelineOptions options;
  options.single_stream = true;
  try {
    passes::compile(testing_support::random_graph(1), options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("E10055"));
  }
}

TEST(Compile, RefusesAnIllegalGraph) {
  Graph graph = parse_graph(R"(anabranch 1
    graph "g" {
      %x = input : f32[4] @b0
      %v = view slice(%x) : f32[2] @b1
      return
    })");
  EXPECT_THROW(passes::compile(std::move(graph), {}), Error);
}

// Code that is quadratic in the number of operators would be noticed here.
TEST(Compile, AHundredThousandOperators) {
  Graph graph = testing_support::random_graph(7, {100000 / ANABRANCH_TEST_SCALE, 6, 20});
  passes::Compiled compiled = passes::compile(std::move(graph), {});
  EXPECT_GT(compiled.schedule.event_count, 1000u);
}

}  // namespace
}  // namespace anabranch
