#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "anabranch/analysis/concurrency.h"
#include "anabranch/analysis/happens_before.h"
#include "anabranch/ir/text.h"
#include "anabranch/passes/pipeline.h"
#include "anabranch/schedule/text.h"
#include "tests/unit/analysis/closure.h"
#include "tests/unit/analysis/random_graph.h"

namespace anabranch {
namespace {

using testing_support::random_graph;
using testing_support::schedule_order;

// Four operators without any edge; the schedules of the tests decide.
Graph four() {
  return parse_graph(R"(anabranch 1
    graph "four" {
      stream 1 "1"
      ^a op()
      ^b op()
      ^c op() stream 1
      ^d op() stream 1
      return
    })");
}

std::string rule_of(const Graph& graph, const std::string& text) {
  try {
    HappensBefore order(graph, parse_schedule(graph, text));
  } catch (const Error& error) {
    return error.diagnostics()[0].rule;
  }
  return "";
}

TEST(HappensBefore, ListOrderAndRecordToWait) {
  Graph graph = four();
  Schedule schedule = parse_schedule(graph, R"(schedule {
    stream 0 "" { launch ^a; record e0; launch ^b }
    stream 1 "1" { launch ^c; wait e0; launch ^d } })");
  HappensBefore order(graph, schedule);
  NodeId a{0}, b{1}, c{2}, d{3};
  EXPECT_TRUE(order.before(a, b));
  EXPECT_TRUE(order.before(a, d));
  EXPECT_FALSE(order.before(b, d));
  EXPECT_FALSE(order.before(a, c));
  EXPECT_FALSE(order.before(a, a));
  EXPECT_TRUE(order.ordered(d, a));
  EXPECT_FALSE(order.ordered(b, c));
  EXPECT_EQ(order.completed(d, StreamId(0)), 1u);
}

TEST(HappensBefore, OperatorsThatAreNotLaunchedHaveNoOrder) {
  Graph graph = four();
  HappensBefore order(graph, parse_schedule(graph, R"(schedule { stream 0 "" { launch ^a } })"));
  EXPECT_FALSE(order.ordered(NodeId(0), NodeId(1)));
  EXPECT_FALSE(order.stream(NodeId(1)).valid());
}

TEST(HappensBefore, RefusesSchedulesWithoutAnOrder) {
  Graph graph = four();
  EXPECT_EQ(rule_of(graph, R"(schedule {
    stream 0 "" { wait e1; launch ^a; record e0 }
    stream 1 "1" { wait e0; launch ^c; record e1 } })"),
            "deadlock");
  EXPECT_EQ(rule_of(graph, R"(schedule { stream 0 "" { wait e0; launch ^a } })"),
            "event-not-recorded");
  EXPECT_EQ(rule_of(graph, R"(schedule { stream 0 "" { record e0; launch ^a; record e0 } })"),
            "event-recorded-twice");
  EXPECT_EQ(rule_of(graph, R"(schedule { stream 0 "" { launch ^a; launch ^a } })"), "launch-twice");
}

TEST(ReplayOrder, NamesEveryCommandOnce) {
  Graph graph = four();
  Schedule schedule = parse_schedule(graph, R"(schedule {
    stream 0 "" { wait e0; launch ^a; launch ^b }
    stream 1 "1" { launch ^c; record e0; launch ^d } })");
  std::set<std::pair<size_t, size_t>> seen;
  for (CommandPlace place : replay_order(schedule)) seen.emplace(place.stream.index(), place.index);
  EXPECT_EQ(seen.size(), 6u);
}

class RandomPrograms : public testing::TestWithParam<int> {};

TEST_P(RandomPrograms, HappensBeforeEqualsTheClosure) {
  passes::Compiled compiled = passes::compile(random_graph(GetParam()), {});
  HappensBefore order(compiled.graph, compiled.schedule);
  auto reference = schedule_order(compiled.graph, compiled.schedule);
  for (size_t a = 0; a < reference.size(); ++a) {
    for (size_t b = 0; b < reference.size(); ++b) {
      ASSERT_EQ(order.before(NodeId(a), NodeId(b)), reference[a][b]) << a << " " << b;
    }
  }
}

TEST_P(RandomPrograms, ConcurrentStreamsEqualsTryingAllPairs) {
  passes::Compiled compiled = passes::compile(random_graph(GetParam(), {40, 4, 6}), {});
  // Folded streams count as the default stream; half of the seeds fold two.
  for (size_t s = 1; s < std::min<size_t>(3, compiled.schedule.streams.size()); ++s)
    compiled.schedule.streams[s].folded = GetParam() % 2 == 0;
  const Graph& graph = compiled.graph;
  HappensBefore order(graph, compiled.schedule);
  auto width = concurrent_streams(graph, compiled.schedule, order);
  auto lane = [&](size_t node) {
    size_t stream = graph.nodes[node].stream.index();
    return compiled.schedule.streams[stream].folded ? size_t{0} : stream;
  };
  for (size_t a = 0; a < graph.nodes.size(); ++a) {
    std::set<size_t> streams;
    for (size_t b = 0; b < graph.nodes.size(); ++b) {
      bool kernels =
          graph.nodes[a].kind == NodeKind::Operator && graph.nodes[b].kind == NodeKind::Operator;
      // One thread walks a folded stream and the default stream.
      if (kernels && (a == b || lane(a) != lane(b)) && !order.ordered(NodeId(a), NodeId(b)))
        streams.insert(lane(b));
    }
    ASSERT_EQ(width[a], streams.size()) << graph.nodes[a].name;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms, testing::Range(0, 60));

}  // namespace
}  // namespace anabranch
