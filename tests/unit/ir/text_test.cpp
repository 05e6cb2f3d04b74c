#include "anabranch/ir/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace anabranch {
namespace {

using testing::HasSubstr;

// Every kind of statement, argument and clause; already in the form that print_graph writes.
constexpr const char* kEverything = R"(anabranch 1
graph "every \"thing\"" {
  stream 1 "1" priority -2 inner_parallel true
  stream 2 "a b" priority 0 inner_parallel false
  %x = input : f32[2,s0] @b0 at "m.py" 1 in "forward"
  %s0 = input : int(s0)
  %"w 1" = constant : f32[4] @b1
  %n = size : int((s0*2))
  %v = view aten.t.default(%x) : f32[s0,2](1,s0) @b0
  %a = aten.all.kinds(%x, [%x, %"w 1", [1, none]], 3, -4, 0.5, 1e+30, inf, -inf, nan, true, false, none, "text \n", dtype(f16), device("cpu:0"), memory_format("contiguous_format"), complex(1.0, -0.5), {(s0+1)}, [], other=%v, flag=true) : f32[2] @b2
  %b = add_(%a, 1) writes(%a) effects(random "cpu", collective "group 0", io "stdout") after(^v, effect ^a) stream 2 {"b": true, "d": 0.5, "i": 3, "li": [1,2], "ls": ["x","y"], "s": "t"} : f32[2] @b2 at "m.py" 12
  %p, %q = split(%b) : f32[1] @b3, int(u0)
  ^"odd name" "::op with space"(%p)
  %first = ^other max(%p) : f32[1] @b4
  %w = wait 7 (%b) : f32[2] @b2
  ^dep wait_dependency 7 (%p)
  %c = cond(%p, [%a]) body graph "yes" {
    %i = input : f32[2] @b0
    %o = "wait"(%i) : f32[2] @b1
    return %o
  } body graph "no" {
    %i = input : f32[2] @b0
    return %i, none, {2}
  } : f32[2] @b5
  return %c, none, {(s0*2)}, 3, %w
}
)";

TEST(GraphText, PrintOfParseIsAFixedPoint) {
  EXPECT_EQ(print_graph(parse_graph(kEverything)), kEverything);
}

TEST(GraphText, ReadsWhatItSays) {
  Graph graph = parse_graph(kEverything);
  EXPECT_EQ(graph.name, "every \"thing\"");
  EXPECT_EQ(graph.buffer_count, 6u);
  ASSERT_EQ(graph.streams.size(), 3u);
  EXPECT_EQ(graph.streams[1].priority, -2);
  EXPECT_FALSE(graph.streams[2].inner_parallel);
  EXPECT_EQ(graph.nodes[0].kind, NodeKind::Input);
  EXPECT_EQ(graph.nodes[0].source, (SourceLocation{"m.py", 1, "forward"}));
  EXPECT_EQ(graph.nodes[4].kind, NodeKind::View);
  EXPECT_EQ(graph.nodes[4].op, "aten.t.default");
  const Node& b = graph.nodes[6];
  EXPECT_EQ(b.writes.size(), 1u);
  EXPECT_EQ(b.effects.size(), 3u);
  EXPECT_EQ(b.control[1], (ControlEdge{NodeId(5), ControlReason::Effect}));
  EXPECT_EQ(b.stream, StreamId(2));
  EXPECT_EQ(*find_string(b.attributes, "s"), "t");
  EXPECT_EQ(find_string(b.attributes, "i"), nullptr);
  EXPECT_EQ(graph.nodes[7].results.size(), 2u);
  EXPECT_EQ(graph.nodes[9].name, "other");
  EXPECT_EQ(graph.nodes[10].wait_number, 7);
  EXPECT_EQ(graph.nodes[12].bodies.size(), 2u);
  EXPECT_EQ(graph.nodes[12].bodies[0]->nodes[1].kind, NodeKind::Operator);
  EXPECT_EQ(graph.outputs.size(), 5u);
}

TEST(GraphText, CommentsAndBlanksDoNotMatter) {
  Graph graph = parse_graph("anabranch 1 graph \"g\" { # nothing\n\n return }");
  EXPECT_TRUE(graph.nodes.empty());
  EXPECT_TRUE(graph.outputs.empty());
}

std::string error_of(const std::string& body) {
  try {
    parse_graph("anabranch 1\ngraph \"g\" {\n%x = input : f32[2] @b0\n" + body + "\n}");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(GraphText, ErrorsSayWhereAndWhat) {
  EXPECT_THAT(error_of("%a = add(%y) : f32[2] @b1\nreturn"), HasSubstr("line 4"));
  EXPECT_THAT(error_of("%a = add(%y) : f32[2] @b1\nreturn"),
              HasSubstr("%y is not defined before this use"));
  EXPECT_THAT(error_of("%a, %b = add(%x) : f32[2] @b1\nreturn"),
              HasSubstr("2 results but 1 types"));
  EXPECT_THAT(error_of("%x = add(%x) : f32[2] @b1\nreturn"),
              HasSubstr("two operators are named x"));
  EXPECT_THAT(error_of("%x = ^y add(%x) : f32[2] @b1\nreturn"),
              HasSubstr("two results are named %x"));
  EXPECT_THAT(error_of("^a add(%x) after(^z)\nreturn"), HasSubstr("^z is not an earlier operator"));
  EXPECT_THAT(error_of("^a add(%x) stream 4\nreturn"), HasSubstr("stream 4 is not declared"));
  EXPECT_THAT(error_of("^a add(%x) effects(magic \"x\")\nreturn"),
              HasSubstr("random, collective or io"));
  EXPECT_THAT(error_of("^a add(%x) {\"k\": 1, \"k\": 2}\nreturn"), HasSubstr("given twice"));
  EXPECT_THAT(error_of("^a add(%x) {\"k\": [1, \"a\"]}\nreturn"), HasSubstr("one kind of item"));
  EXPECT_THAT(error_of("^a add(%x"), HasSubstr("expected ')'"));
  EXPECT_THAT(error_of("%y = add(%x) : f32[2] @b1"), HasSubstr("ends with a return"));
  EXPECT_THAT(error_of("return %x } trailing {"), HasSubstr("after the end of the graph"));
  EXPECT_THROW(parse_graph("anabranch 2\ngraph \"g\" { return }"), Error);
  EXPECT_THROW(parse_graph(""), Error);
}

TEST(PrintReal, ShortestTextThatReadsBack) {
  EXPECT_EQ(print_real(1), "1.0");
  EXPECT_EQ(print_real(0.1), "0.1");
  EXPECT_EQ(print_real(1e300), "1e+300");
  EXPECT_EQ(print_real(-0.0), "-0.0");
  EXPECT_EQ(print_real(NAN), "nan");
  EXPECT_EQ(print_real(-INFINITY), "-inf");
}

TEST(PrintNode, IsOneStatement) {
  Graph graph = parse_graph("anabranch 1 graph \"g\" { %x = input : f32[2] @b0 return %x }");
  EXPECT_EQ(print_node(graph, NodeId(0)), "%x = input : f32[2] @b0");
}

}  // namespace
}  // namespace anabranch
