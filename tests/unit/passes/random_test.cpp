// The passes against slow references on random programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "anabranch/ir/conflict.h"
#include "anabranch/ir/text.h"
#include "anabranch/passes/pipeline.h"
#include "anabranch/schedule/text.h"
#include "tests/unit/analysis/closure.h"
#include "tests/unit/analysis/random_graph.h"

namespace anabranch {
namespace {

using testing_support::random_graph;
using testing_support::Relation;

class RandomPrograms : public testing::TestWithParam<int> {
 protected:
  Graph graph() const { return random_graph(GetParam(), {35, 3, 4}); }
};

TEST_P(RandomPrograms, EffectOrderOrdersEveryConflict) {
  Graph g = graph();
  passes::resolve_waits(g);
  passes::order_effects(g);
  Relation order = testing_support::required_edges(g);
  testing_support::close(order);
  EXPECT_TRUE(testing_support::keeps_hazards(g, order)) << print_graph(g);
}

// placed waits == cross-stream edges of the transitive reduction of stream order ∪ required edges
TEST_P(RandomPrograms, EventsAreTheTransitiveReduction) {
  Graph g = graph();
  passes::resolve_waits(g);
  passes::order_effects(g);
  passes::assign_streams(g, false);
  Relation edges = testing_support::required_edges(g);
  std::map<size_t, size_t> last;
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    if (!g.nodes[i].launches()) continue;
    auto [entry, first] = last.emplace(g.nodes[i].stream.index(), i);
    if (!first) edges[entry->second][i] = true;
    entry->second = i;
  }
  Relation closed = edges;
  testing_support::close(closed);
  std::set<std::pair<size_t, size_t>> expected;
  for (size_t a = 0; a < edges.size(); ++a) {
    for (size_t b = 0; b < edges.size(); ++b) {
      if (!edges[a][b] || g.nodes[a].stream == g.nodes[b].stream) continue;
      bool implied = false;
      for (size_t k = 0; k < edges.size(); ++k) implied = implied || (closed[a][k] && closed[k][b]);
      if (!implied) expected.emplace(a, b);
    }
  }
  passes::EventReport report;
  Schedule schedule = passes::place_events(g, &report);
  std::set<std::pair<size_t, size_t>> reported, placed;
  for (const auto& edge : report.placed) reported.emplace(edge.from.index(), edge.to.index());
  EXPECT_EQ(reported, expected);

  std::map<size_t, size_t> recorder;
  for (const StreamProgram& program : schedule.streams) {
    size_t launched = 0;
    for (const Command& command : program.commands) {
      if (const auto* launch = std::get_if<Launch>(&command)) launched = launch->node.index();
      if (const auto* record = std::get_if<Record>(&command))
        recorder[record->event.index()] = launched;
    }
  }
  EXPECT_EQ(recorder.size(), schedule.event_count);
  for (const StreamProgram& program : schedule.streams) {
    std::vector<size_t> waiting;
    for (const Command& command : program.commands) {
      if (const auto* wait = std::get_if<Wait>(&command))
        waiting.push_back(recorder.at(wait->event.index()));
      const auto* launch = std::get_if<Launch>(&command);
      if (!launch) continue;
      for (size_t from : waiting) placed.emplace(from, launch->node.index());
      waiting.clear();
    }
  }
  EXPECT_EQ(placed, expected);
}

TEST_P(RandomPrograms, BuffersAreReleasedByTheirMaximalUses) {
  passes::Compiled compiled = passes::compile(graph(), {});
  const Graph& g = compiled.graph;
  for (const Schedule* schedule : {&compiled.schedule, &compiled.serial}) {
    Relation order = testing_support::schedule_order(g, *schedule);
    std::set<size_t> given, planned;
    for (const Node& node : g.nodes) {
      if (node.kind == NodeKind::Input)
        given.insert(g.value(node.results[0]).tensor()->buffer.index());
    }
    for (const Argument& output : g.outputs) {
      given.insert(g.value(std::get<ValueId>(output.value)).tensor()->buffer.index());
    }
    for (const BufferLife& life : schedule->buffers) {
      planned.insert(life.buffer.index());
      std::vector<NodeId> users = testing_support::users(g, life.buffer), expected;
      for (NodeId user : users) {
        bool last = true;
        for (NodeId other : users) last = last && !order[user.index()][other.index()];
        if (last) expected.push_back(user);
      }
      EXPECT_THAT(life.releases, testing::UnorderedElementsAreArray(expected));
      EXPECT_EQ(life.acquire, users.front());
    }
    for (size_t b = 0; b < g.buffer_count; ++b) {
      bool used = !testing_support::users(g, BufferId(b)).empty();
      EXPECT_EQ(planned.contains(b), used && !given.contains(b)) << "b" << b;
    }
  }
}

// Sharers of bytes are ordered whichever slow way one looks at it, and no bound is broken.
TEST_P(RandomPrograms, PlacementsShareOnlyWhatIsOrdered) {
  passes::PipelineOptions options;
  options.placeable = [](const Graph& g) { return std::vector<bool>(g.buffer_count, true); };
  passes::Compiled compiled = passes::compile(graph(), options);
  const passes::MemoryReport& memory = compiled.memory;
  EXPECT_LE(memory.lower_bound, memory.arena);
  EXPECT_LE(memory.arena, memory.unshared);
  for (const Schedule* schedule : {&compiled.schedule, &compiled.serial}) {
    Relation order = testing_support::schedule_order(compiled.graph, *schedule);
    auto ends_before = [&](const BufferLife& a, const BufferLife& b) {
      for (NodeId user : testing_support::users(compiled.graph, a.buffer)) {
        if (!order[user.index()][b.acquire.index()]) return false;
      }
      return true;
    };
    size_t placed = 0;
    for (const BufferLife& a : schedule->buffers) {
      if (!a.placement) continue;
      ++placed;
      EXPECT_EQ(a.placement->offset % 64, 0);
      for (const BufferLife& b : schedule->buffers) {
        if (!b.placement || a.buffer == b.buffer) continue;
        ByteRange first{a.placement->offset, a.placement->offset + a.placement->size};
        ByteRange second{b.placement->offset, b.placement->offset + b.placement->size};
        if (first.overlaps(second)) {
          EXPECT_TRUE(ends_before(a, b) || ends_before(b, a))
              << "b" << a.buffer.index() << " and b" << b.buffer.index();
        }
      }
    }
    EXPECT_EQ(placed, memory.placed);
  }
}

TEST_P(RandomPrograms, TextsReadBack) {
  Graph captured = graph();
  std::string text = print_graph(captured);
  EXPECT_EQ(print_graph(parse_graph(text)), text);
  passes::Compiled compiled = passes::compile(parse_graph(text), {});
  EXPECT_EQ(print_graph(parse_graph(print_graph(compiled.graph))), print_graph(compiled.graph));
  EXPECT_EQ(parse_schedule(compiled.graph, print_schedule(compiled.graph, compiled.schedule)),
            compiled.schedule);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms, testing::Range(0, 150));

}  // namespace
}  // namespace anabranch
