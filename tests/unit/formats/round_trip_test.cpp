#include <gtest/gtest.h>

#include "anabranch/formats/formats.h"
#include "anabranch/ir/text.h"
#include "random_dump.h"

namespace anabranch::formats {
namespace {

void expect_equal(const DumpGraph& expected, const Dump& dump) {
  ASSERT_TRUE(dump.diagnostics.empty()) << to_string(dump.diagnostics[0]);
  ASSERT_EQ(dump.graphs.size(), 1u);
  ASSERT_EQ(dump.graphs[0].ops.size(), expected.ops.size());
  for (size_t i = 0; i < expected.ops.size(); ++i) {
    EXPECT_EQ(dump.graphs[0].ops[i], expected.ops[i]) << "operator " << i;
  }
  EXPECT_EQ(dump.graphs[0], expected);
}

class RandomRoundTrip : public testing::TestWithParam<unsigned> {};

// random dump => pbtxt => the same dump
TEST_P(RandomRoundTrip, Pbtxt) {
  DumpGraph graph = random_dump(GetParam(), 12);
  std::string text = write_torchair_pbtxt(graph);
  EXPECT_EQ(detect(text), DumpKind::TorchAirPbtxt);
  expect_equal(graph, read_dump(text));
}

// random dump => GE text => the same dump, with its name
TEST_P(RandomRoundTrip, GeText) {
  DumpGraph graph = random_dump(GetParam(), 12);
  graph.name = "g\"raph\n流";
  graph.ops[0].unparsed["op.id"] = "id: 4\n";
  graph.unparsed = "attr {\n  key: \"k\"\n  value {\n    b: true\n  }\n}\n";
  std::string text = write_ge_text(graph);
  EXPECT_EQ(detect(text), DumpKind::GeText);
  expect_equal(graph, read_dump(text));
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomRoundTrip, testing::Range(0u, 60u));

// descriptors without names, and with equal names => their order and names survive
TEST(RoundTrip, DescriptorsWithoutNames) {
  DumpGraph graph;
  DumpOp op{"a", "Add", {}, {}, {}, {}, {}};
  for (std::string name : {"", "", "x", "x", "0"}) {
    op.input_descs.push_back(
        {name, "DT_FLOAT", {static_cast<int64_t>(op.input_descs.size())}, "", "", ""});
  }
  graph.ops.push_back(op);
  expect_equal(graph, read_dump(write_torchair_pbtxt(graph)));
  expect_equal(graph, read_dump(write_ge_text(graph)));
}

// graph => dump => text => dump => graph => dump: nothing is lost on the way
TEST(RoundTrip, GraphThroughText) {
  Graph graph = parse_graph(R"(anabranch 1
graph "g" {
  stream 1 "a:b" priority 0 inner_parallel true
  %x = input : f16[4,8] @b0
  %n = input : int(s0)
  %w = constant : f32[8,8] @b1
  %t = view aten.t.default(%w) : f32[8,8](1,8) @b1
  %a = aten.add_.Tensor(%x, 1, alpha=2) writes(%x) stream 1 {"_user_stream_label": "a:b"} : f16[4,8] @b0
  %i = wait(%x) after(^a) {"_user_stream_label": "a:b"} : f16[4,8] @b0
  %v, %k = aten.topk.default(%i, 2) : f16[4,2] @b2, i64[4,2] @b3
  %r = aten.rand.default([4, {s0}]) effects(random "cpu") after(effect ^a) : f32[4,s0] @b4
  return %a, none, %k, %r
})");
  DumpGraph dump = to_dump(graph);
  EXPECT_EQ(to_dump(from_dump(dump)), dump);
  expect_equal(dump, read_dump(write_ge_text(dump)));
  DumpGraph unnamed = dump;
  unnamed.name.clear();
  expect_equal(unnamed, read_dump(write_torchair_pbtxt(dump)));
}

}  // namespace
}  // namespace anabranch::formats
