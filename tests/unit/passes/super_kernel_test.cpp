#include "anabranch/passes/super_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "anabranch/ir/text.h"
#include "anabranch/passes/pipeline.h"
#include "anabranch/schedule/text.h"
#include "tests/unit/analysis/random_graph.h"

namespace anabranch {
namespace {

using testing::HasSubstr;

TEST(SuperKernelOptions, OnlyStreamFusionOneKeepsStreams) {
  for (const char* options :
       {"stream-fusion=1", " stream-fusion = 1 ", "a=2:stream-fusion=1", "stream-fusion=1:a=2",
        "a;stream-fusion=1", "x,,stream-fusion=1,", "stream-fusion=0:stream-fusion=1"}) {
    EXPECT_TRUE(passes::keeps_streams(options)) << options;
  }
  for (const char* options :
       {"", ":", "stream-fusion", "stream-fusion=", "stream-fusion=0", "stream-fusion=10",
        "xstream-fusion=1", "stream-fusion=1:stream-fusion=0", "=1", "stream_fusion=1"}) {
    EXPECT_FALSE(passes::keeps_streams(options)) << options;
  }
}

TEST(SuperKernel, SeveralLabelsDrawOneWarningWithTheWayOut) {
  Graph graph = parse_graph(R"(anabranch 1
    graph "g" {
      ^a op() {"_super_kernel_scope": "sk", "_user_stream_label": "x"} at "m.py" 3
      ^b op() {"_super_kernel_scope": "sk", "_user_stream_label": "y"} at "m.py" 5
      ^c op() {"_super_kernel_scope": "sk", "_user_stream_label": "z"} at "m.py" 7
      return
    })");
  auto warnings = passes::assign_streams(graph, false);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].severity, Severity::Warning);
  EXPECT_THAT(warnings[0].message, HasSubstr("stream \"x\""));
  EXPECT_THAT(warnings[0].message, HasSubstr("stream \"y\""));
  EXPECT_THAT(warnings[0].fix, HasSubstr("stream-fusion=1"));
  EXPECT_EQ(warnings[0].related[1].line, 5);
  EXPECT_EQ(graph.streams.size(), 2u);
  for (const Node& node : graph.nodes) EXPECT_EQ(node.stream, StreamId(1));
}

class RandomSuperKernels : public testing::TestWithParam<int> {
 protected:
  /// Scopes over runs of the program, over several labels, some with stream fusion.
  Graph graph() const {
    Graph graph = testing_support::random_graph(GetParam(), {60, 3, 4});
    std::mt19937_64 random(GetParam());
    size_t scope = 0;
    for (Node& node : graph.nodes) {
      if (random() % 5 == 0) scope = random() % 4;
      if (!node.launches() || scope == 0) continue;
      node.attributes.emplace(keys::kSuperKernel, "sk" + std::to_string(scope));
      if (scope > 1) node.attributes.emplace(keys::kSuperKernelOptions, "stream-fusion=1");
    }
    return graph;
  }
};

// The verifier proves each schedule inside compile; here: what stands inside a unit.
TEST_P(RandomSuperKernels, NothingStandsBetweenTheLaunchesOfAUnit) {
  passes::Compiled compiled = passes::compile(graph(), {});
  std::vector<size_t> unit_of(compiled.graph.nodes.size(), 0);
  for (size_t u = 0; u < compiled.events.units.size(); ++u) {
    for (NodeId node : compiled.events.units[u].operators) unit_of[node.index()] = u + 1;
  }
  for (const StreamProgram& program : compiled.schedule.streams) {
    size_t unit = 0;
    bool between = false;
    for (const Command& command : program.commands) {
      const auto* launch = std::get_if<Launch>(&command);
      if (!launch) {
        between = true;
        continue;
      }
      bool inside = unit != 0 && unit_of[launch->node.index()] == unit;
      EXPECT_FALSE(inside && between) << print_schedule(compiled.graph, compiled.schedule);
      unit = unit_of[launch->node.index()];
      between = false;
    }
  }
}

// A run of one scope on one stream ends at another scope, or where a split has a reason.
TEST_P(RandomSuperKernels, NeighboursOfOneScopeAreOneUnitUnlessHeld) {
  passes::Compiled compiled = passes::compile(graph(), {});
  const Graph& g = compiled.graph;
  std::map<NodeId, const passes::UnitReport*> first;
  size_t operators = 0, expected = 0;
  for (const passes::UnitReport& unit : compiled.events.units) {
    first.emplace(unit.operators.front(), &unit);
    operators += unit.operators.size();
  }
  for (const StreamProgram& program : compiled.schedule.streams) {
    const std::string* scope = nullptr;
    for (const Command& command : program.commands) {
      const auto* launch = std::get_if<Launch>(&command);
      if (!launch) continue;
      const std::string* own = passes::super_kernel_of(g.node(launch->node));
      if (own) ++expected;
      auto begins = first.find(launch->node);
      bool goes_on = own && scope && *own == *scope;
      if (begins == first.end()) {
        EXPECT_EQ(goes_on, own != nullptr);
      } else {
        EXPECT_EQ(begins->second->held_by.valid(), goes_on);
      }
      scope = own;
    }
  }
  EXPECT_EQ(operators, expected);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomSuperKernels, testing::Range(0, 100));

// One scope over two streams that hand values to and fro: a split at every second operator.
TEST(SuperKernel, ManySplitsTakeLinearTime) {
  Graph graph;
  graph.name = "zigzag";
  auto add = [&](const std::string& name, NodeKind kind, std::vector<size_t> operands) {
    Node node;
    node.name = name;
    node.op = "op";
    node.kind = kind;
    for (size_t operand : operands) node.operands.push_back({"", Argument(ValueId(operand))});
    size_t position = graph.nodes.size();
    node.attributes.emplace(keys::kSuperKernel, "sk");
    node.attributes.emplace(keys::kSuperKernelOptions, "stream-fusion=1");
    if (position % 2 == 0) node.attributes.emplace(keys::kStreamLabel, "1");
    graph.add_node(std::move(node));
    graph.add_result(NodeId(position), name,
                     TensorType{DType::F32, {4}, {1}, 0, BufferId(position)});
  };
  add("x", NodeKind::Input, {});
  for (size_t i = 1; i < 50000 / ANABRANCH_TEST_SCALE; ++i)
    add("n" + std::to_string(i), NodeKind::Operator, {i - 1});
  passes::Compiled compiled = passes::compile(std::move(graph), {});
  EXPECT_GT(compiled.events.units.size(), 40000u / ANABRANCH_TEST_SCALE);
}

}  // namespace
}  // namespace anabranch
