// Plans for cores: every one is proven, keeps the labels' order, and never has more threads at work
// than there are cores.
#include "anabranch/passes/place_on_cores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "anabranch/ir/text.h"
#include "anabranch/passes/memory_plan.h"
#include "anabranch/passes/passes.h"
#include "anabranch/passes/pipeline.h"
#include "anabranch/schedule/text.h"
#include "anabranch/verify/verify.h"
#include "tests/unit/analysis/random_graph.h"

namespace anabranch {
namespace {

using passes::CorePlan;

passes::Compiled compiled(Graph graph) {
  passes::PipelineOptions options;
  options.cores = 2;
  options.placeable = [](const Graph& g) { return std::vector<bool>(g.buffer_count, true); };
  return passes::compile(std::move(graph), options);
}

passes::Compiled compiled(const char* body) {
  return compiled(parse_graph(std::string("anabranch 1\ngraph \"g\" {\n") + body + "\n}\n"));
}

OperatorTimes random_times(const Graph& graph, int cores, uint64_t seed) {
  std::mt19937_64 random(seed);
  OperatorTimes times{cores, std::vector<OperatorTime>(graph.nodes.size())};
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].kind != NodeKind::Operator) continue;
    double one = 1000.0 * static_cast<double>(1 + random() % 200);
    double gain = 1 + static_cast<double>(random() % 100) / 100 * (cores - 1);
    times.times[i] = {one, one / gain, random() % 3 == 0 ? one / cores : 0};
  }
  return times;
}

OperatorTimes same_times(const Graph& graph, int cores, OperatorTime time) {
  OperatorTimes times{cores, std::vector<OperatorTime>(graph.nodes.size())};
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].kind == NodeKind::Operator) times.times[i] = time;
  }
  return times;
}

std::string findings(const Graph& graph, const Schedule& schedule) {
  std::string text;
  for (const Diagnostic& found : verify::check_schedule(graph, schedule))
    text += to_string(found) + "\n";
  return text;
}

/// Runs the lanes with random durations; returns the most threads that were at work at once.
int most_threads(const Graph& graph, const Schedule& schedule, uint64_t seed) {
  std::mt19937_64 random(seed);
  size_t lanes = schedule.streams.size();
  std::vector<size_t> next(lanes, 0);
  std::vector<int> busy(lanes, 0), threads(lanes, 0);  // steps left, threads while they last
  std::vector<bool> recorded(schedule.event_count, false);
  int most = 0;
  for (bool alive = true; alive;) {
    alive = false;
    int sum = 0;
    for (size_t lane = 0; lane < lanes; ++lane) {
      const auto& commands = schedule.streams[lane].commands;
      while (busy[lane] == 0 && next[lane] < commands.size()) {
        const Command& command = commands[next[lane]];
        if (const auto* wait = std::get_if<Wait>(&command)) {
          if (!recorded[wait->event.index()]) break;
        } else if (const auto* record = std::get_if<Record>(&command)) {
          recorded[record->event.index()] = true;
        } else {
          const Launch& launch = std::get<Launch>(command);
          bool works = graph.node(launch.node).kind == NodeKind::Operator;
          busy[lane] = 1 + static_cast<int>(random() % 20);
          threads[lane] = !works ? 0 : launch.threads > 0 ? launch.threads : schedule.lanes.cores;
        }
        ++next[lane];
      }
      alive = alive || busy[lane] > 0 || next[lane] < commands.size();
      if (busy[lane] > 0) sum += threads[lane];
    }
    most = std::max(most, sum);
    for (int& left : busy) left = std::max(0, left - 1);
  }
  return most;
}

class RandomPlans : public testing::TestWithParam<int> {};

TEST_P(RandomPlans, AreProvenAndFitOnTheCores) {
  passes::Compiled program = compiled(testing_support::random_graph(GetParam(), {40, 4, 4}));
  ASSERT_EQ(findings(program.graph, program.schedule), "");
  if (!passes::may_place_on_cores(program.graph, program.schedule)) return;
  for (int cores : {2, 3, 4, 8, 64}) {
    OperatorTimes times = random_times(program.graph, cores, static_cast<uint64_t>(GetParam()));
    CorePlan one = passes::one_lane(program.graph, program.schedule, times, {});
    EXPECT_EQ(findings(program.graph, one.schedule), "");
    for (const CorePlan& plan :
         passes::place_on_cores(program.graph, program.schedule, times, {}, 3000)) {
      std::string text = print_schedule(program.graph, plan.schedule);
      EXPECT_EQ(findings(program.graph, plan.schedule), "") << text;
      EXPECT_EQ(print_schedule(program.graph, parse_schedule(program.graph, text)), text);
      for (uint64_t seed = 0; seed < 5; ++seed)
        EXPECT_LE(most_threads(program.graph, plan.schedule, seed), cores) << text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPlans, testing::Range(0, 150));

// Two chains of two operators, the second on stream "1".
constexpr const char* kTwoChains =
    "%x = input : f32[4] @b0\n"
    "%a = add(%x, 1) : f32[4] @b1\n%b = add(%a, 1) : f32[4] @b2\n"
    "%c = add(%x, 2) {\"_user_stream_label\": \"1\"} : f32[4] @b3\n"
    "%d = add(%c, 2) {\"_user_stream_label\": \"1\"} : f32[4] @b4\n"
    "return %b, %d";

TEST(PlaceOnCores, WhatGainsNothingFromCoresRunsSideBySide) {
  passes::Compiled program = compiled(kTwoChains);
  OperatorTimes times = same_times(program.graph, 2, {100000, 95000, 0});
  std::vector<CorePlan> plans =
      passes::place_on_cores(program.graph, program.schedule, times, {}, 1000);
  ASSERT_FALSE(plans.empty());
  EXPECT_EQ(plans[0].wide, 0u);
  EXPECT_NEAR(plans[0].ns, 200000, 5000);
  double one = passes::one_lane(program.graph, program.schedule, times, {}).ns;
  EXPECT_DOUBLE_EQ(one, 380000);
}

TEST(PlaceOnCores, WhatUsesAllCoresRunsAlone) {
  passes::Compiled program = compiled(kTwoChains);
  OperatorTimes times = same_times(program.graph, 2, {100000, 100000, 40000});
  CorePlan one = passes::one_lane(program.graph, program.schedule, times, {});
  EXPECT_DOUBLE_EQ(one.ns, 160000);
  EXPECT_EQ(one.split, 4u);
  for (const CorePlan& plan :
       passes::place_on_cores(program.graph, program.schedule, times, {}, 1000))
    EXPECT_GE(plan.ns, one.ns);
}

// a has all cores to itself, then b and c run side by side, then d has all cores again
TEST(PlaceOnCores, EachPhaseHasItsOwnWay) {
  passes::Compiled program = compiled(
      "%x = input : f32[4] @b0\n%a = add(%x, 1) : f32[4] @b1\n%b = mul(%a, 2) : f32[4] @b2\n"
      "%c = mul(%a, 3) {\"_user_stream_label\": \"1\"} : f32[4] @b3\n"
      "%d = add(%b, %c) : f32[4] @b4\nreturn %d");
  OperatorTimes times{2, std::vector<OperatorTime>(program.graph.nodes.size())};
  for (size_t i = 0; i < program.graph.nodes.size(); ++i) {
    if (program.graph.nodes[i].op == "add") times.times[i] = {100000, 50000, 0};
    if (program.graph.nodes[i].op == "mul") times.times[i] = {100000, 100000, 0};
  }
  std::vector<CorePlan> plans =
      passes::place_on_cores(program.graph, program.schedule, times, {}, 1000);
  ASSERT_FALSE(plans.empty());
  EXPECT_EQ(plans[0].wide, 2u);
  EXPECT_NEAR(plans[0].ns, 200000, 5000);
  EXPECT_EQ(findings(program.graph, plans[0].schedule), "");
}

TEST(PlaceOnCores, ManyLabelsShareTheCores) {
  std::string body = "%x = input : f32[4] @b0\n";
  std::string results;
  for (int i = 0; i < 6; ++i) {
    body += "%r" + std::to_string(i) + " = add(%x, 1) {\"_user_stream_label\": \"" +
            std::to_string(i) + "\"} : f32[4] @b" + std::to_string(i + 1) + "\n";
    results += (i ? ", %r" : " %r") + std::to_string(i);
  }
  passes::Compiled program = compiled((body + "return" + results).c_str());
  OperatorTimes times = same_times(program.graph, 2, {50000, 50000, 0});
  std::vector<CorePlan> plans =
      passes::place_on_cores(program.graph, program.schedule, times, {}, 1000);
  ASSERT_FALSE(plans.empty());
  EXPECT_EQ(plans[0].schedule.streams.size(), 2u);
  EXPECT_NEAR(plans[0].ns, 150000, 5000);
}

TEST(PlaceOnCores, BitsThatDependOnTheThreadsNeedAllCores) {
  passes::Compiled program = compiled(
      "%x = input : f32[4] @b0\n%a = aten.sum.default(%x) : f32[] @b1\n"
      "%b = aten.relu.default(%x) {\"_user_stream_label\": \"1\"} : f32[4] @b2\nreturn %a, %b");
  OperatorTimes times = same_times(program.graph, 2, {50000, 50000, 0});
  for (const CorePlan& plan :
       passes::place_on_cores(program.graph, program.schedule, times, {}, 1000)) {
    for (const StreamProgram& lane : plan.schedule.streams) {
      for (const Command& command : lane.commands) {
        const auto* launch = std::get_if<Launch>(&command);
        if (launch && program.graph.node(launch->node).name == "a") {
          EXPECT_EQ(launch->threads, 0);
        }
      }
    }
  }
}

TEST(PlaceOnCores, ALimitOfCoresHolds) {
  passes::Compiled program = compiled(kTwoChains);
  std::vector<int> caps(program.graph.nodes.size(), 1);
  OperatorTimes times = same_times(program.graph, 2, {100000, 50000, 0});
  CorePlan one = passes::one_lane(program.graph, program.schedule, times, caps);
  EXPECT_DOUBLE_EQ(one.ns, 400000);
  EXPECT_THAT(print_schedule(program.graph, one.schedule),
              testing::HasSubstr("launch ^a threads 1"));
}

TEST(PlaceOnCores, WhatMayWaitForAnotherStreamStays) {
  auto placeable = [](const char* op) {
    passes::Compiled program = compiled(
        (std::string("%x = input : f32[4] @b0\n%a = ") + op + "(%x) : f32[4] @b1\n" +
         "%b = aten.relu.default(%x) {\"_user_stream_label\": \"1\"} : f32[4] @b2\nreturn %a, %b")
            .c_str());
    return passes::may_place_on_cores(program.graph, program.schedule);
  };
  EXPECT_TRUE(placeable("aten.relu.default"));
  EXPECT_FALSE(placeable("mylib.exchange.default"));
}

}  // namespace
}  // namespace anabranch
