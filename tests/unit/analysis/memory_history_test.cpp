#include "anabranch/analysis/memory_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "anabranch/ir/text.h"
#include "tests/unit/analysis/random_graph.h"

namespace anabranch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// x is written as a whole, then its second half; a reader sees both writers.
TEST(MemoryHistory, SegmentsKeepTheirLastWriters) {
  Graph graph = parse_graph(R"(anabranch 1
    graph "g" {
      %x = make() : f32[8] @b0
      %half = view slice(%x) : f32[4]+4 @b0
      %y = fill_(%half) writes(%half) : f32[4]+4 @b0
      ^end use(%x)
      return
    })");
  UseTable uses(graph);
  MemoryHistory history(graph, uses);
  for (size_t i = 0; i < 3; ++i) history.record(NodeId(i));
  auto writers = [&](int64_t begin, int64_t end) {
    std::vector<NodeId> found;
    history.append_writers(BufferId(0), {begin, end}, found);
    return found;
  };
  EXPECT_THAT(writers(0, 32), ElementsAre(NodeId(0), NodeId(2)));
  EXPECT_THAT(writers(0, 16), ElementsAre(NodeId(0)));
  EXPECT_THAT(writers(16, 20), ElementsAre(NodeId(2)));
  EXPECT_THAT(writers(4, 4), IsEmpty());
}

TEST(MemoryHistory, AWriterComesAfterTheReadersOfItsBytes) {
  Graph graph = parse_graph(R"(anabranch 1
    graph "g" {
      %x = input : f32[8] @b0
      %low = view slice(%x) : f32[4] @b0
      %high = view slice(%x) : f32[4]+4 @b0
      ^read_low use(%low)
      ^read_high use(%high)
      ^write fill_(%high) writes(%high)
      return
    })");
  UseTable uses(graph);
  MemoryHistory history(graph, uses);
  for (size_t i = 0; i < 5; ++i) history.record(NodeId(i));
  std::vector<NodeId> found;
  history.append_conflicts(uses.of(NodeId(5))[0], found);
  EXPECT_THAT(found, ElementsAre(NodeId(4)));
}

// Every conflict with an earlier operator must follow from the reported ones and their own.
TEST(MemoryHistory, ReportedConflictsImplyAllOthers) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Graph graph = testing_support::random_graph(seed, {40, 1, 3});
    UseTable uses(graph);
    MemoryHistory history(graph, uses);
    size_t n = graph.nodes.size();
    std::vector<std::vector<bool>> before(n, std::vector<bool>(n, false));
    for (size_t i = 0; i < n; ++i) {
      std::vector<NodeId> found;
      for (const Use& use : uses.of(NodeId(i))) history.append_conflicts(use, found);
      history.record(NodeId(i));
      for (NodeId earlier : found) {
        before[i][earlier.index()] = true;
        for (size_t k = 0; k < n; ++k) before[i][k] = before[i][k] || before[earlier.index()][k];
      }
      for (size_t k = 0; k < i; ++k) {
        for (const Use& mine : uses.of(NodeId(i))) {
          for (const Use& theirs : uses.of(NodeId(k))) {
            ASSERT_TRUE(before[i][k] || !conflicts(theirs, mine)) << "seed " << seed;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace anabranch
