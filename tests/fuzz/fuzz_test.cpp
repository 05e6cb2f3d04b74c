// A fixed part of the random programs of `./dev fuzz`, and tests of the fuzzer itself.
// ANABRANCH_FUZZ_SEED and ANABRANCH_FUZZ_COUNT choose others.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "anabranch/ir/text.h"
#include "tests/conformance/harness.h"
#include "tests/fuzz/checker.h"
#include "tests/fuzz/generator.h"
#include "tests/fuzz/shrink.h"

namespace anabranch::fuzz {
namespace {

using anabranch::testing::graph_of;

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
}

// The sanitizers are an order of magnitude slower.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr uint64_t kPrograms = 400;
#else
constexpr uint64_t kPrograms = 5000;
#endif
constexpr int kParts = 10;  // so that ctest runs them side by side

class RandomPrograms : public ::testing::TestWithParam<int> {};

TEST_P(RandomPrograms, AreRight) {
  uint64_t count = from_environment("ANABRANCH_FUZZ_COUNT", kPrograms) / kParts;
  uint64_t first =
      from_environment("ANABRANCH_FUZZ_SEED", 0) + static_cast<uint64_t>(GetParam()) * count;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    Graph graph = random_program(seed);
    CheckOptions options;
    options.seed = seed;
    std::optional<std::string> problem = check_program(graph, options);
    ASSERT_FALSE(problem) << *problem << "to shrink it: build/dev/bin/fuzz_ir --count 1 --seed "
                          << seed;
  }
}
INSTANTIATE_TEST_SUITE_P(Part, RandomPrograms, ::testing::Range(0, kParts));

// What the generator promises does occur.
TEST(Generator, MakesEverythingItNames) {
  std::set<std::string> seen;
  size_t most_labels = 0, most_operators = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Graph graph = random_program(seed);
    std::set<std::string> labels;
    for (const Node& node : graph.nodes) {
      seen.insert(node.op);
      if (const std::string* label = find_string(node.attributes, keys::kStreamLabel))
        labels.insert(*label);
      for (const auto& body : node.bodies) {
        for (const Node& inner : body->nodes) {
          if (!inner.bodies.empty()) seen.insert("a body in a body");
          if (inner.kind == NodeKind::Wait) seen.insert("a wait in a body");
          if (!inner.writes.empty()) seen.insert("a write in a body");
        }
      }
      for (const Effect& effect : node.effects) seen.insert(std::string(to_string(effect.kind)));
    }
    most_labels = std::max(most_labels, labels.size());
    most_operators = std::max(most_operators, graph.nodes.size());
  }
  for (const char* what : {"input",
                           "constant",
                           "test.view",
                           "wait",
                           "wait_dependency",
                           "ref.add_",
                           "ref.copy_",
                           "ref.rand",
                           "ref.print",
                           "ref.split2",
                           "ref.throw",
                           "fuzz.cond",
                           "fuzz.loop",
                           "fuzz.item",
                           "fuzz.start",
                           "fuzz.finish",
                           "a body in a body",
                           "a wait in a body",
                           "a write in a body",
                           "random",
                           "io",
                           "collective"})
    EXPECT_TRUE(seen.contains(what)) << what;
  EXPECT_GT(most_labels, 30u);
  EXPECT_GT(most_operators, 200u);
}

TEST(Generator, SameSeedSameProgram) {
  EXPECT_EQ(print_graph(random_program(17)), print_graph(random_program(17)));
  EXPECT_NE(print_graph(random_program(17)), print_graph(random_program(18)));
}

/// True if `fill_` on a buffer is followed by a `mul_` on another stream: a stand-in for a fault.
bool has_pattern(const Graph& graph) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (size_t k = i + 1; k < graph.nodes.size(); ++k) {
      const Node &a = graph.nodes[i], &b = graph.nodes[k];
      if (a.op == "ref.fill_" && b.op == "ref.mul_" && a.attributes != b.attributes) return true;
    }
  }
  return false;
}

// a program of hundreds of statements => what the fault needs, and its operands
TEST(Shrink, KeepsOnlyWhatTheFaultNeeds) {
  size_t found = 0, statements = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Graph graph = random_program(seed);
    if (!has_pattern(graph)) continue;
    ++found;
    Graph small = shrink(graph, has_pattern);
    EXPECT_TRUE(has_pattern(small));
    EXPECT_LE(small.nodes.size(), 16u) << print_graph(small);
    statements += small.nodes.size();
    EXPECT_EQ(print_graph(parse_graph(print_graph(small))), print_graph(small));
  }
  EXPECT_GT(found, 20u);
  EXPECT_LE(statements, 8 * found);
}

TEST(Shrink, ShrinksBodiesToo) {
  Graph graph = graph_of(R"(
    %x = input : i64[4] @b0
    %y = ref.add(%x, %x) {"_user_stream_label": "1"} : i64[4] @b1
    ^c fuzz.loop(%x) body graph "b" {
      %i = input : i64[4] @b0
      %j = ref.add(%i, %i) : i64[4] @b1
      ^p ref.print(%i) effects(io "log")
      ^q ref.print(%j) effects(io "log")
      return
    }
    return %y)");
  Graph small = shrink(graph, [](const Graph& candidate) {
    for (const Node& node : candidate.nodes) {
      if (node.bodies.empty()) continue;
      for (const Node& inner : node.bodies[0]->nodes) {
        if (inner.name == "p") return true;
      }
    }
    return false;
  });
  EXPECT_EQ(small.nodes.size(), 2u) << print_graph(small);
  EXPECT_EQ(small.nodes[1].bodies[0]->nodes.size(), 2u) << print_graph(small);
  EXPECT_EQ(graph.nodes[2].bodies[0]->nodes.size(), 4u) << "the original was changed";
}

// a kernel that the passes do not know the effects of => found
TEST(Checker, FindsAWriteThatTheProgramHides) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the race planted here is a real one: ThreadSanitizer would end the test at it";
#endif
  Graph graph = graph_of(R"(
    %x = input : i64[4] @b0
    ^a ref.add_(%x, %x) writes(%x) {"_user_stream_label": "1"}
    %b = ref.add(%x, %x) {"_user_stream_label": "2"} : i64[4] @b1
    return %b)");
  CheckOptions options;
  options.adversaries = 200;
  options.longest_us = 400;
  EXPECT_EQ(check_program(graph, options), std::nullopt);
  graph.nodes[1].writes.clear();
  EXPECT_NE(check_program(graph, options), std::nullopt);
}

}  // namespace
}  // namespace anabranch::fuzz
