#include "anabranch/passes/core_limits.h"

#include <gtest/gtest.h>

#include <random>

#include "anabranch/analysis/happens_before.h"
#include "anabranch/analysis/operator_class.h"
#include "anabranch/ir/text.h"
#include "anabranch/passes/pipeline.h"
#include "tests/unit/analysis/random_graph.h"

namespace anabranch {
namespace {

TEST(CoreCount, IsTwoNumbersOfAtLeastOne) {
  passes::CoreCount count = passes::parse_core_count("8|16");
  EXPECT_EQ(count.cube, 8);
  EXPECT_EQ(count.vector, 16);
  for (const char* text : {"", "|", "8", "8|", "|8", "0|1", "1|0", "-1|2", "a|b", "8|16|2", "8 |16",
                           "99999999999|1", "1.5|2"}) {
    EXPECT_THROW(passes::parse_core_count(text), Error) << text;
  }
}

TEST(ThreadCaps, AreShareOfTheDeviceRoundedDownAtLeastOne) {
  Graph graph = parse_graph(R"(anabranch 1
    graph "g" {
      %x = input : f32[4,4] @b0
      %a = aten.mm.default(%x, %x) {"_op_aicore_num": "1", "_op_vectorcore_num": "48"} : f32[4,4] @b1
      %b = aten.mm.default(%x, %x) {"_op_aicore_num": 11, "_op_vectorcore_num": "48"} : f32[4,4] @b2
      %c = aten.mm.default(%x, %x) {"_op_aicore_num": "24", "_op_vectorcore_num": "1"} : f32[4,4] @b3
      %d = aten.mm.default(%x, %x) {"_op_aicore_num": "99"} : f32[4,4] @b4
      %e = aten.neg.default(%x) {"_op_aicore_num": "1"} : f32[4,4] @b5
      %f = aten.sum.default(%x) {"_op_vectorcore_num": "1"} : f32[] @b6
      %w = wait(%x) after(^a) {"_op_vectorcore_num": "1"} : f32[4,4] @b0
      return
    })");
  EXPECT_EQ(passes::thread_caps(graph, {}, 8), (std::vector<int>{0, 1, 3, 0, 0, 0, 0, 0}));
  passes::CoreLimits limits;
  limits.graph = {12, 24};
  EXPECT_EQ(passes::thread_caps(graph, limits, 8), (std::vector<int>{0, 1, 3, 0, 0, 4, 0, 0}));
  EXPECT_EQ(passes::thread_caps(graph, limits, 1), std::vector<int>(8, 0));
}

TEST(ThreadCaps, RefuseWhatIsNoNumberOfCores) {
  for (const char* value : {"\"0\"", "\"x\"", "0", "-3", "true", "1.5", "[1]", "\"\""}) {
    Graph graph = parse_graph(std::string(R"(anabranch 1
    graph "g" {
      ^a op() {"_op_vectorcore_num": )") +
                              value + R"(} at "m.py" 3
      return
    })");
    EXPECT_THROW(passes::thread_caps(graph, {}, 8), Error) << value;
  }
}

// The limit holds on every lane and in the one-stream schedule, where operators run alone.
TEST(ThreadCaps, HoldInBothSchedules) {
  passes::PipelineOptions options;
  options.cores = 8;
  options.limits.graph = {24, 12};
  passes::Compiled compiled =
      passes::compile(testing_support::random_graph(5, {60, 3, 4}), options);
  size_t launches = 0;
  for (const Schedule* schedule : {&compiled.schedule, &compiled.serial}) {
    for (const StreamProgram& program : schedule->streams) {
      for (const Command& command : program.commands) {
        const auto* launch = std::get_if<Launch>(&command);
        if (!launch || compiled.graph.node(launch->node).kind != NodeKind::Operator) continue;
        ++launches;
        EXPECT_TRUE(launch->threads == 1 || launch->threads == 2);
        EXPECT_TRUE(schedule == &compiled.schedule || launch->threads == 2);
      }
    }
  }
  EXPECT_GT(launches, 40u);
}

class RandomLimits : public testing::TestWithParam<int> {};

// A warning for two operators exactly when some two unordered ones do not fit.
TEST_P(RandomLimits, WarnWhenTwoThatCanRunTogetherDoNotFit) {
  Graph graph = testing_support::random_graph(GetParam(), {40, 3, 4});
  std::mt19937_64 random(GetParam());
  for (Node& node : graph.nodes) {
    if (node.kind != NodeKind::Operator || random() % 3 != 0) continue;
    node.attributes.emplace(keys::kVectorCores, std::to_string(1 + random() % 28));
  }
  passes::Compiled compiled = passes::compile(std::move(graph), {});
  const Graph& g = compiled.graph;
  HappensBefore order(g, compiled.schedule);
  auto limit = [&](size_t i) {
    const std::string* text = find_string(g.nodes[i].attributes, keys::kVectorCores);
    return text ? std::stoi(*text) : 0;
  };
  bool pair = false;
  for (size_t a = 0; a < g.nodes.size(); ++a) {
    for (size_t b = a + 1; b < g.nodes.size(); ++b) {
      bool together = limit(a) && limit(b) && !order.ordered(NodeId(a), NodeId(b));
      pair = pair || (together && limit(a) + limit(b) > 48);
    }
  }
  auto found = passes::check_core_limits(g, compiled.schedule, order, {});
  ASSERT_LE(found.size(), 1u);
  EXPECT_TRUE(!pair || found.size() == 1u);
  if (found.empty()) return;
  // What is named really can run together, and really does not fit.
  int sum = 0;
  std::vector<size_t> named;
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    if (limit(i) == 0 || found[0].message.find(describe(g.nodes[i]) + " on") == std::string::npos)
      continue;
    for (size_t other : named) EXPECT_FALSE(order.ordered(NodeId(other), NodeId(i)));
    named.push_back(i);
    sum += limit(i);
  }
  EXPECT_GE(named.size(), 2u);
  EXPECT_GT(sum, 48) << found[0].message;
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomLimits, testing::Range(0, 100));

}  // namespace
}  // namespace anabranch
