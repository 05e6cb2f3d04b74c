// The verifier against a slow reference: it must refuse a schedule exactly when some hazard is
// unordered in the transitive closure of the command lists.
#include "anabranch/verify/verify.h"

#include <gtest/gtest.h>

#include <random>

#include "anabranch/ir/text.h"
#include "anabranch/passes/pipeline.h"
#include "anabranch/schedule/text.h"
#include "tests/unit/analysis/closure.h"
#include "tests/unit/analysis/random_graph.h"

namespace anabranch {
namespace {

using testing_support::random_graph;
using testing_support::Relation;

std::string print(const std::vector<Diagnostic>& findings) {
  std::string text;
  for (const Diagnostic& finding : findings) text += to_string(finding) + "\n";
  return text;
}

class RandomSchedules : public testing::TestWithParam<int> {
 protected:
  RandomSchedules() : random_(GetParam()) {
    compiled_ = passes::compile(random_graph(GetParam(), {28, 3, 4}), {});
    // Buffer lives have a test of their own.
    compiled_.schedule.buffers.clear();
  }

  size_t pick(size_t count) { return random_() % count; }

  template <class Kind>
  bool remove_one(Schedule& schedule) {
    std::vector<std::pair<size_t, size_t>> places;
    for (size_t s = 0; s < schedule.streams.size(); ++s) {
      const auto& commands = schedule.streams[s].commands;
      for (size_t k = 0; k < commands.size(); ++k) {
        if (std::holds_alternative<Kind>(commands[k])) places.emplace_back(s, k);
      }
    }
    if (places.empty()) return false;
    auto [s, k] = places[pick(places.size())];
    auto& commands = schedule.streams[s].commands;
    commands.erase(commands.begin() + static_cast<std::ptrdiff_t>(k));
    return true;
  }

  std::mt19937_64 random_;
  passes::Compiled compiled_;
};

TEST_P(RandomSchedules, CompiledOnesAreLegal) {
  EXPECT_EQ(print(verify::check_schedule(compiled_.graph, compiled_.schedule)), "");
  EXPECT_EQ(print(verify::check_schedule(compiled_.graph, compiled_.serial)), "");
}

// The waits are a transitive reduction, so each of them is needed.
TEST_P(RandomSchedules, OneWaitLessIsRefused) {
  for (int i = 0; i < 5; ++i) {
    Schedule schedule = compiled_.schedule;
    if (!remove_one<Wait>(schedule)) return;
    auto findings = verify::check_schedule(compiled_.graph, schedule);
    Relation order = testing_support::schedule_order(compiled_.graph, schedule);
    EXPECT_FALSE(testing_support::keeps_hazards(compiled_.graph, order));
    EXPECT_TRUE(verify::has_errors(findings)) << print_schedule(compiled_.graph, schedule);
  }
}

// Swapped commands may or may not matter: the verifier and the closure must agree.
TEST_P(RandomSchedules, SwappedCommandsAreRefusedWhenAHazardIsUnordered) {
  for (int i = 0; i < 12; ++i) {
    Schedule schedule = compiled_.schedule;
    auto& commands = schedule.streams[pick(schedule.streams.size())].commands;
    if (commands.size() < 2) continue;
    size_t k = pick(commands.size() - 1);
    std::swap(commands[k], commands[k + 1]);
    auto findings = verify::check_schedule(compiled_.graph, schedule);
    bool stuck = false;
    for (const Diagnostic& finding : findings) stuck = stuck || finding.rule == "deadlock";
    if (stuck) continue;
    Relation order = testing_support::schedule_order(compiled_.graph, schedule);
    EXPECT_EQ(verify::has_errors(findings), !testing_support::keeps_hazards(compiled_.graph, order))
        << print(findings) << print_graph(compiled_.graph)
        << print_schedule(compiled_.graph, schedule);
  }
}

TEST_P(RandomSchedules, MissingLaunchesAndRecordsAreRefused) {
  Schedule schedule = compiled_.schedule;
  ASSERT_TRUE(remove_one<Launch>(schedule));
  EXPECT_TRUE(verify::has_errors(verify::check_schedule(compiled_.graph, schedule)));
  schedule = compiled_.schedule;
  if (!remove_one<Record>(schedule)) return;
  EXPECT_TRUE(verify::has_errors(verify::check_schedule(compiled_.graph, schedule)));
}

class RandomMemoryPlans : public testing::TestWithParam<int> {};

// Buffers at random places: refused exactly when two that may live at once share bytes.
TEST_P(RandomMemoryPlans, OverlapIsRefusedWhenLivesOverlap) {
  std::mt19937_64 random(GetParam());
  passes::Compiled compiled = passes::compile(random_graph(GetParam(), {28, 3, 4}), {});
  const Graph& graph = compiled.graph;
  Relation order = testing_support::schedule_order(graph, compiled.schedule);
  auto done = [&](const BufferLife& a, const BufferLife& b) {
    for (NodeId release : a.releases) {
      if (!order[release.index()][b.acquire.index()]) return false;
    }
    return true;
  };
  for (int i = 0; i < 12; ++i) {
    Schedule schedule = compiled.schedule;
    size_t arena = 4 + random() % 60;
    for (BufferLife& life : schedule.buffers) {
      // In units of the buffers' 256 bytes: every place is large enough.
      life.placement = Placement{static_cast<int64_t>(256 * (random() % arena)),
                                 static_cast<int64_t>(256 * (1 + random() % 4))};
    }
    bool overlap = false;
    for (const BufferLife& a : schedule.buffers) {
      for (const BufferLife& b : schedule.buffers) {
        bool shares = a.buffer != b.buffer &&
                      a.placement->offset < b.placement->offset + b.placement->size &&
                      b.placement->offset < a.placement->offset + a.placement->size;
        overlap = overlap || (shares && !done(a, b) && !done(b, a));
      }
    }
    auto findings = verify::check_schedule(graph, schedule);
    EXPECT_EQ(verify::has_errors(findings), overlap) << print(findings);
  }
}

TEST_P(RandomMemoryPlans, ReleasesThatMissAUserAreRefused) {
  passes::Compiled compiled = passes::compile(random_graph(GetParam(), {28, 3, 4}), {});
  for (size_t i = 0; i < compiled.schedule.buffers.size(); ++i) {
    Schedule schedule = compiled.schedule;
    schedule.buffers[i].releases.pop_back();
    EXPECT_TRUE(verify::has_errors(verify::check_schedule(compiled.graph, schedule)));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomSchedules, testing::Range(0, 100));
INSTANTIATE_TEST_SUITE_P(Seeds, RandomMemoryPlans, testing::Range(0, 100));

TEST(CheckSchedule, OneStreamMayHoldEveryOperator) {
  passes::Compiled compiled = passes::compile(random_graph(3), {});
  EXPECT_EQ(compiled.serial.streams.size(), 1u);
  EXPECT_GT(compiled.schedule.streams.size(), 1u);
  EXPECT_EQ(print(verify::check_schedule(compiled.graph, compiled.serial)), "");
}

}  // namespace
}  // namespace anabranch
