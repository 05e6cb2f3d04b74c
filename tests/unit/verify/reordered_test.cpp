// Each rule of check_reordered has an input that breaks exactly it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "anabranch/ir/renumber.h"
#include "anabranch/ir/text.h"
#include "anabranch/verify/verify.h"

namespace anabranch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Graph before() {
  return parse_graph(R"(anabranch 1
    graph "g" {
      %x = input : f32[4] @b0
      %y = input : f32[4] @b1
      %a = read(%x) : f32[4] @b2
      %b = read(%x) : f32[4] @b3
      %f = fill_(%x) writes(%x) : f32[4] @b0
      ^p print(%a) effects(io "stdout")
      ^q print(%b) effects(io "stdout")
      return %f
    })");
}

std::vector<std::string> rules(std::vector<size_t> order) {
  Graph graph = before(), after = graph;
  std::vector<NodeId> nodes;
  for (size_t i : order) nodes.emplace_back(i);
  reorder(after, nodes);
  std::vector<std::string> found;
  for (const Diagnostic& finding : verify::check_reordered(graph, after)) {
    found.push_back(finding.rule);
  }
  return found;
}

std::vector<std::string> rules_of(const Graph& after) {
  std::vector<std::string> found;
  for (const Diagnostic& finding : verify::check_reordered(before(), after)) {
    found.push_back(finding.rule);
  }
  return found;
}

TEST(CheckReordered, AcceptsWhatKeepsTheOrderOfConflicts) {
  EXPECT_THAT(rules({0, 1, 2, 3, 4, 5, 6}), IsEmpty());
  EXPECT_THAT(rules({0, 1, 3, 2, 5, 4, 6}), IsEmpty());
}

TEST(CheckReordered, ReportsAWriteThatOvertakesARead) {
  EXPECT_THAT(rules({0, 1, 2, 4, 3, 5, 6}), ElementsAre("race-war"));
}

TEST(CheckReordered, ReportsEffectsThatChangePlaces) {
  EXPECT_THAT(rules({0, 1, 2, 3, 4, 6, 5}), ElementsAre("order-effect"));
}

TEST(CheckReordered, ReportsInputsThatChangePlaces) {
  EXPECT_THAT(rules({1, 0, 2, 3, 4, 5, 6}), ElementsAre("reorder-inputs"));
}

TEST(CheckReordered, ReportsWhatIsNotAReordering) {
  Graph changed = before();
  changed.nodes[2].operands[0].value.value = ValueId(1);
  EXPECT_THAT(rules_of(changed), ElementsAre("reorder-nodes"));

  Graph renamed = before();
  renamed.nodes[6].name = "r";
  EXPECT_THAT(rules_of(renamed), ElementsAre("reorder-nodes"));

  Graph shorter = before();
  shorter.erase_nodes({false, false, false, false, false, false, true});
  EXPECT_THAT(rules_of(shorter), ElementsAre("reorder-nodes"));

  Graph retyped = before();
  retyped.values[2].type = retyped.values[4].type;
  EXPECT_THAT(rules_of(retyped), ElementsAre("reorder-nodes"));

  Graph returned = before();
  returned.outputs[0] = Argument(ValueId(2));
  EXPECT_THAT(rules_of(returned), ElementsAre("reorder-nodes"));

  Graph effect_lost = before();
  effect_lost.nodes[5].effects.clear();
  EXPECT_THAT(rules_of(effect_lost), ElementsAre("reorder-nodes"));
}

}  // namespace
}  // namespace anabranch
