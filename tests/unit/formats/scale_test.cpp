// Large and deep input: correctness only, the clock is no test.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "anabranch/formats/formats.h"

namespace anabranch::formats {
namespace {

constexpr size_t kOperators = 50'000 / ANABRANCH_TEST_SCALE;

DumpGraph chain() {
  DumpGraph graph;
  for (size_t i = 0; i < kOperators; ++i) {
    DumpOp op;
    op.name = fmt::format("model/layers.{}/Add_{}", i / 10, i);
    op.type = i == 0 ? "Data" : "Add";
    if (i > 0) op.inputs = {{graph.ops.back().name, 0}, {graph.ops[i / 2].name, 0}};
    if (i > 0) op.attributes["_user_stream_label"] = fmt::format("{}", i % 7);
    for (std::string key : {"_op_exec_never_timeout", "_enable_inner_parallel"})
      op.attributes[key] = true;
    op.attributes["names"] = std::vector<std::string>{"x1", "x2"};
    op.output_descs = {{"y", "DT_FLOAT16", {1000, 1000}, "ND", "NPU", ""}};
    op.input_descs = {{"x1", "DT_FLOAT16", {1000, 1000}, "ND", "NPU", ""}};
    graph.ops.push_back(std::move(op));
  }
  return graph;
}

TEST(Scale, FiftyThousandOperators) {
  DumpGraph graph = chain();
  EXPECT_TRUE(read_dump(write_torchair_pbtxt(graph)).graphs.at(0) == graph);
  std::string text = write_ge_text(graph);
  EXPECT_GT(text.size(), kOperators * 420);
  EXPECT_TRUE(read_dump(text).graphs.at(0) == graph);
}

// cut in the middle => what was read, and one report
TEST(Scale, Truncated) {
  std::string text = write_ge_text(chain());
  Dump dump = read_dump(std::string_view(text).substr(0, text.size() / 2));
  ASSERT_EQ(dump.diagnostics.size(), 1u);
  EXPECT_GT(dump.graphs.at(0).ops.size(), kOperators / 3);
}

// a chain as long as the graph, in reversed file order => sorted without recursion
TEST(Scale, SortsLongChains) {
  DumpGraph graph = chain();
  std::reverse(graph.ops.begin(), graph.ops.end());
  Graph sorted = from_dump(graph);
  ASSERT_EQ(sorted.nodes.size(), kOperators);
  EXPECT_EQ(sorted.nodes.front().kind, NodeKind::Input);
  EXPECT_EQ(sorted.nodes.back().name, graph.ops.front().name);
}

}  // namespace
}  // namespace anabranch::formats
