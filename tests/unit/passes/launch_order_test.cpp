#include "anabranch/passes/launch_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "anabranch/ir/text.h"
#include "anabranch/passes/pipeline.h"
#include "anabranch/schedule/text.h"
#include "anabranch/verify/verify.h"
#include "tests/unit/analysis/closure.h"
#include "tests/unit/analysis/random_graph.h"

namespace anabranch {
namespace {

using passes::LaunchOrder;
using testing_support::random_graph;

constexpr std::array kOrders{LaunchOrder::BFS, LaunchOrder::DFS, LaunchOrder::RDFS,
                             LaunchOrder::StableRDFS};

Graph ordered_effects(uint64_t seed) {
  Graph graph = random_graph(seed, {40, 3, 4});
  passes::resolve_waits(graph);
  passes::order_effects(graph);
  return graph;
}

std::vector<std::string> launches(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) {
    if (node.launches()) names.push_back(node.name);
  }
  return names;
}

TEST(LaunchOrder, NamesReadBackAndOthersAreRefused) {
  for (LaunchOrder order : kOrders) {
    EXPECT_EQ(passes::parse_launch_order(to_string(order)), order);
  }
  EXPECT_EQ(passes::parse_launch_order(""), LaunchOrder::Program);
  EXPECT_THROW(passes::parse_launch_order("dfs"), Error);
}

class LaunchOrders : public testing::TestWithParam<int> {};

TEST_P(LaunchOrders, ChangeNothingButTheOrderAndKeepEveryHazard) {
  Graph before = ordered_effects(GetParam());
  testing_support::Relation hazards = testing_support::hazards(before);
  for (LaunchOrder order : kOrders) {
    Graph after = before;
    passes::order_launches(after, order);
    EXPECT_TRUE(verify::check_reordered(before, after).empty()) << to_string(order);
    EXPECT_TRUE(verify::check_graph(after).empty()) << to_string(order);
    std::map<std::string, size_t> place;
    for (size_t i = 0; i < after.nodes.size(); ++i) place[after.nodes[i].name] = i;
    for (size_t a = 0; a < hazards.size(); ++a) {
      for (size_t b = 0; b < hazards.size(); ++b) {
        if (!hazards[a][b]) continue;
        EXPECT_LT(place[before.nodes[a].name], place[before.nodes[b].name]) << to_string(order);
      }
    }
  }
}

TEST_P(LaunchOrders, BfsGoesLevelByLevelAndStableKeepsAll) {
  Graph before = ordered_effects(GetParam());
  Graph breadth = before, stable = before;
  passes::order_launches(breadth, LaunchOrder::BFS);
  testing_support::Relation edges = testing_support::required_edges(breadth);
  std::vector<size_t> level(edges.size(), 0);
  size_t last = 0;
  for (size_t i = 0; i < edges.size(); ++i) {
    if (!breadth.nodes[i].launches()) continue;
    for (size_t k = 0; k < i; ++k) {
      if (edges[k][i] && breadth.nodes[k].launches()) level[i] = std::max(level[i], level[k] + 1);
    }
    EXPECT_GE(level[i], last);
    last = level[i];
  }
  passes::order_launches(stable, LaunchOrder::StableRDFS);
  EXPECT_EQ(launches(stable), launches(before));
}

TEST_P(LaunchOrders, WholeProgramsAreProvenInEveryOrder) {
  for (LaunchOrder order : kOrders) {
    passes::PipelineOptions options;
    options.launch_order = order;
    passes::Compiled compiled = passes::compile(random_graph(GetParam(), {60, 4, 4}), options);
    passes::Compiled again = passes::compile(random_graph(GetParam(), {60, 4, 4}), options);
    EXPECT_EQ(print_schedule(compiled.graph, compiled.schedule),
              print_schedule(again.graph, again.schedule));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, LaunchOrders, testing::Range(0, 60));

// Deep as well as wide: neither recursion nor quadratic time would pass here.
TEST(LaunchOrder, AHundredThousandOperators) {
  Graph graph = random_graph(11, {100000 / ANABRANCH_TEST_SCALE, 6, 20});
  passes::resolve_waits(graph);
  passes::order_effects(graph);
  for (LaunchOrder order : kOrders) {
    size_t nodes = graph.nodes.size();
    passes::order_launches(graph, order);
    EXPECT_EQ(graph.nodes.size(), nodes);
  }
}

}  // namespace
}  // namespace anabranch
