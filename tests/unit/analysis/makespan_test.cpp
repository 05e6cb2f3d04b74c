#include "anabranch/analysis/makespan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "anabranch/ir/text.h"
#include "anabranch/passes/pipeline.h"
#include "anabranch/schedule/text.h"
#include "tests/unit/analysis/random_graph.h"

namespace anabranch {
namespace {

std::vector<size_t> own_lanes(const Schedule& schedule) {
  std::vector<size_t> lanes(schedule.streams.size());
  std::iota(lanes.begin(), lanes.end(), size_t{0});
  return lanes;
}

/// Durations 1000, 2000, 3000 … by operator number, whatever the operators are.
MeasuredDurations numbered(const Graph& graph) {
  MeasuredDurations durations;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    durations[graph.nodes[i].name] = {1000.0 * static_cast<double>(1 + i % 7), 1};
  return durations;
}

/// The slow reference: when each command of each stream ends with a lane per stream and cores for
/// all, by recursion over stream order and record → wait.
class Longest {
 public:
  Longest(const Schedule& schedule, const CostModel& costs, double wait_ns)
      : schedule_(schedule), costs_(costs), wait_ns_(wait_ns) {}

  double makespan() {
    double end = 0;
    for (size_t s = 0; s < schedule_.streams.size(); ++s) {
      size_t count = schedule_.streams[s].commands.size();
      if (count > 0) end = std::max(end, after(s, count) + (s > 0 ? wait_ns_ : 0));
    }
    return end;
  }

 private:
  /// When stream `s` has done its first `count` commands.
  double after(size_t s, size_t count) {
    if (count == 0) return s > 0 ? wait_ns_ : 0;
    auto [known, added] = known_.emplace(std::pair(s, count), 0);
    if (!added) return known->second;
    double time = after(s, count - 1);
    const Command& command = schedule_.streams[s].commands[count - 1];
    if (const auto* launch = std::get_if<Launch>(&command)) {
      time += costs_.nanoseconds(launch->node, launch->threads);
    } else if (const auto* wait = std::get_if<Wait>(&command)) {
      double recorded = record_time(wait->event);
      if (recorded > time) time = recorded + wait_ns_;
    }
    return known_[{s, count}] = time;
  }

  double record_time(EventId event) {
    for (size_t s = 0; s < schedule_.streams.size(); ++s) {
      const auto& commands = schedule_.streams[s].commands;
      for (size_t i = 0; i < commands.size(); ++i) {
        const auto* record = std::get_if<Record>(&commands[i]);
        if (record && record->event == event) return after(s, i + 1);
      }
    }
    ADD_FAILURE() << "event " << event.index() << " is never recorded";
    return 0;
  }

  const Schedule& schedule_;
  const CostModel& costs_;
  double wait_ns_;
  std::map<std::pair<size_t, size_t>, double> known_;
};

class RandomMakespan : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomMakespan, WithCoresForAllIsTheLongestChain) {
  passes::Compiled compiled = passes::compile(testing_support::random_graph(GetParam()), {});
  DeviceProfile profile;
  profile.cores = 64;
  CostModel costs(compiled.graph, profile, numbered(compiled.graph));
  for (StreamProgram& program : compiled.schedule.streams) {
    for (Command& command : program.commands) {
      if (auto* launch = std::get_if<Launch>(&command)) *launch = Launch{launch->node, 1, false};
    }
  }
  for (double wait_ns : {0.0, 1500.0}) {
    double predicted = predict_makespan(compiled.graph, compiled.schedule,
                                        own_lanes(compiled.schedule), costs, wait_ns);
    EXPECT_DOUBLE_EQ(predicted, Longest(compiled.schedule, costs, wait_ns).makespan());
  }
}

TEST_P(RandomMakespan, OneLaneOrOneCoreIsTheSum) {
  passes::Compiled compiled = passes::compile(testing_support::random_graph(GetParam()), {});
  DeviceProfile profile;
  profile.cores = 1;
  CostModel costs(compiled.graph, profile, numbered(compiled.graph));
  double sum = 0;
  for (size_t i = 0; i < compiled.graph.nodes.size(); ++i) sum += costs.nanoseconds(NodeId(i), 1);
  std::vector<size_t> one(compiled.schedule.streams.size(), 0);
  EXPECT_DOUBLE_EQ(predict_makespan(compiled.graph, compiled.schedule, one, costs, 9999), sum);
  EXPECT_DOUBLE_EQ(
      predict_makespan(compiled.graph, compiled.schedule, own_lanes(compiled.schedule), costs, 0),
      sum);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomMakespan, testing::Range<uint64_t>(0, 60));

TEST(Makespan, TheMoreUrgentStreamGetsACoreFirst) {
  Graph graph = parse_graph(R"(anabranch 1
    graph "g" {
      stream 1 "1"
      stream 2 "2"
      stream 3 "3" priority -1
      ^a op() stream 1
      ^b op() stream 2
      ^c op() stream 3
      ^d op()
      return
    })");
  DeviceProfile profile;
  profile.cores = 2;
  CostModel costs(graph, profile,
                  {{"a", {100, 1}}, {"b", {100, 1}}, {"c", {10, 1}}, {"d", {100, 1}}});
  std::vector<size_t> lanes{0, 1, 2, 3};
  auto predict = [&](const std::string& priority) {
    Schedule schedule = parse_schedule(graph, R"(schedule {
      stream 0 "" { wait e0; launch ^d threads 1 }
      stream 1 "1" { launch ^a threads 1 }
      stream 2 "2" { launch ^b threads 1 }
      stream 3 "3" priority )" + priority + R"( { launch ^c threads 1; record e0 } })");
    return predict_makespan(graph, schedule, lanes, costs, 0);
  };
  EXPECT_EQ(predict("-1"), 200);  // c and a, then b until 110, d from 100
  EXPECT_EQ(predict("0"), 210);   // a and b, then c, then d
}

}  // namespace
}  // namespace anabranch
