#include "anabranch/passes/auto_streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <set>

#include "anabranch/analysis/makespan.h"
#include "anabranch/ir/text.h"
#include "anabranch/passes/passes.h"
#include "anabranch/passes/pipeline.h"
#include "tests/unit/analysis/random_graph.h"

namespace anabranch {
namespace {

using passes::AutoStreams;
using testing::HasSubstr;
using testing_support::random_graph;

MeasuredDurations durations(uint64_t seed, const Graph& captured) {
  std::mt19937_64 random(seed);
  MeasuredDurations made;
  for (const Node& node : captured.nodes)
    made[node.name] = {1000.0 + static_cast<double>(random() % 100000), 1};
  return made;
}

passes::Compiled compile(uint64_t seed, const std::string& mode, bool fold = false) {
  passes::PipelineOptions options;
  options.cores = 4;
  options.auto_streams = passes::parse_auto_streams(mode);
  options.fold = fold;
  Graph graph = random_graph(seed, {40, 3, 4});
  options.durations = durations(seed, graph);
  return passes::compile(std::move(graph), options);  // verifies the schedule
}

double makespan(uint64_t seed, const passes::Compiled& compiled) {
  DeviceProfile profile;
  profile.cores = 4;
  CostModel costs(compiled.graph, profile, durations(seed, random_graph(seed, {40, 3, 4})));
  std::vector<size_t> lanes(compiled.schedule.streams.size());
  for (size_t s = 0; s < lanes.size(); ++s) lanes[s] = compiled.schedule.streams[s].folded ? 0 : s;
  return predict_makespan(compiled.graph, compiled.schedule, lanes, costs, profile.wait_ns);
}

TEST(AutoStreams, TextsOfTheModes) {
  for (const char* text : {"off", "cv", "auto", "LoadBalance:1", "LoadBalance:64", "MainStream:7"})
    EXPECT_EQ(to_string(passes::parse_auto_streams(text)), text);
  for (const char* text : {"", "on", "CV", "LoadBalance", "LoadBalance:", "LoadBalance:0",
                           "LoadBalance:65", "LoadBalance:2x", "MainStream:-1", "cv:2"}) {
    try {
      passes::parse_auto_streams(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("LoadBalance:N, MainStream:N (N from 1 to 64)"));
    }
  }
}

class Modes : public testing::TestWithParam<uint64_t> {};

TEST_P(Modes, EverySplitIsLegalAndKeepsTheUsersLabels) {
  for (const char* mode : {"cv", "LoadBalance:3", "MainStream:3", "auto", "LoadBalance:64"}) {
    passes::Compiled compiled = compile(GetParam(), mode);
    std::set<std::string> labels;
    for (const Node& node : compiled.graph.nodes) {
      if (const std::string* label = find_string(node.attributes, keys::kStreamLabel))
        labels.insert(*label);
    }
    std::set<std::string> names;
    for (const Stream& stream : compiled.graph.streams)
      EXPECT_TRUE(names.insert(stream.label).second) << stream.label << " twice";
    for (const Node& node : compiled.graph.nodes) {
      if (!node.launches()) continue;
      const std::string* user = find_string(node.attributes, keys::kStreamLabel);
      const std::string* assigned = find_string(node.attributes, keys::kAssignedStream);
      const std::string& stream = compiled.graph.streams[node.stream.index()].label;
      EXPECT_EQ(assigned ? *assigned : "", stream);
      // An operator without label never runs on a stream that a user named, nor the reverse.
      bool right = user ? stream == *user || stream.starts_with(*user + "_")
                        : stream.empty() || !labels.contains(stream);
      EXPECT_TRUE(right) << stream;
    }
  }
}

TEST_P(Modes, AutoIsNeverPredictedToBeSlowerThanNoAutomaticStreams) {
  double off = makespan(GetParam(), compile(GetParam(), "off"));
  EXPECT_LE(makespan(GetParam(), compile(GetParam(), "auto")), off);
}

TEST_P(Modes, FoldingIsNeverPredictedToBeSlower) {
  for (const char* mode : {"off", "LoadBalance:4"}) {
    double apart = makespan(GetParam(), compile(GetParam(), mode));
    EXPECT_LE(makespan(GetParam(), compile(GetParam(), mode, true)), apart * 1.02) << mode;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Modes, testing::Range<uint64_t>(0, 40));

TEST(AutoStreams, MainStreamOfOneMovesNothing) {
  passes::Compiled compiled = compile(3, "MainStream:1");
  for (const Node& node : compiled.graph.nodes) {
    const std::string* user = find_string(node.attributes, keys::kStreamLabel);
    if (!node.launches()) continue;
    EXPECT_EQ(compiled.graph.streams[node.stream.index()].label, user ? *user : "");
  }
}

TEST(AutoStreams, LoadBalanceBalances) {
  std::string text = "anabranch 1\ngraph \"g\" {\n  %x = input : f16[256,256] @b0\n";
  for (int i = 0; i < 12; ++i)
    text += "  %a" + std::to_string(i) + " = aten.mm.default(%x, %x) : f16[256,256] @b" +
            std::to_string(i + 1) + "\n";
  text += "  return %a0\n}\n";
  passes::PipelineOptions options;
  options.cores = 4;
  options.auto_streams = passes::parse_auto_streams("LoadBalance:4");
  passes::Compiled compiled = passes::compile(parse_graph(text), options);
  ASSERT_EQ(compiled.graph.streams.size(), 4u);
  for (const StreamProgram& program : compiled.schedule.streams)
    EXPECT_EQ(program.commands.size(), 3u) << program.stream.label;
}

TEST(AutoStreams, IdleWithOneStream) {
  Graph graph = random_graph(1, {40, 0, 4});
  passes::PipelineOptions options;
  options.auto_streams = passes::parse_auto_streams("LoadBalance:4");
  options.single_stream = true;
  EXPECT_EQ(passes::compile(graph, options).schedule.streams.size(), 1u);
  options.single_stream = false;
  options.multi_stream = false;
  EXPECT_EQ(passes::compile(graph, options).schedule.streams.size(), 1u);
}

TEST(AutoStreams, OneNoteSaysWhatWasDecided) {
  for (const char* mode : {"off", "auto", "LoadBalance:2"}) {
    size_t notes = 0;
    for (const Diagnostic& said : compile(5, mode).diagnostics)
      notes += said.rule == "auto-streams";
    EXPECT_EQ(notes, mode == std::string("off") ? 0u : 1u) << mode;
  }
}

}  // namespace
}  // namespace anabranch
