#include "anabranch/formats/draw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "anabranch/formats/reader.h"

namespace anabranch::formats {
namespace {

using testing::HasSubstr;
using testing::Not;

DumpGraph graph_of(std::string_view text) { return read_dump(text).graphs.at(0); }

// one cluster a stream, data solid, wait dashed, effect dotted, all in the legend
TEST(DrawDot, StreamsAndEdges) {
  std::string dot = draw_dot(graph_of(R"(
op { name: "x" type: "Data" output_desc { dtype: DT_FLOAT16 shape { dim: 4 dim: -1 } } }
op { name: "a" type: "Add" input: "x:0" output_desc { dtype: DT_FLOAT16 shape { dim: 4 dim: -1 } } }
op { name: "w" type: "Identity" input: "x:0" input: "a:-1" attr { key: "_user_stream_label" value { s: "1" } } }
op { name: "m" type: "MatMul" input: "w:0" input: "a:-1" attr { key: "_user_stream_label" value { s: "1" } } })"));
  EXPECT_THAT(dot, HasSubstr("<b>default stream</b>"));
  EXPECT_THAT(dot, HasSubstr("<b>stream &quot;1&quot;</b>"));
  EXPECT_THAT(dot, HasSubstr("<tr><td><b>a</b></td></tr><tr><td>Add</td></tr>"));
  EXPECT_THAT(dot, HasSubstr(">float16 [4, ?]<"));
  EXPECT_THAT(dot, HasSubstr("n0 -> n1 [color="));
  EXPECT_THAT(dot, HasSubstr("n1 -> n2 [style=dashed"));
  EXPECT_THAT(dot, HasSubstr("n1 -> n3 [style=dotted"));
  EXPECT_THAT(dot, HasSubstr("stream &quot;1&quot;: 2 operators"));
  EXPECT_THAT(dot, HasSubstr("default stream: 1 operator<"));
}

// names cannot break out of their labels; absent producers draw no edge
TEST(DrawDot, AwkwardNames) {
  std::string dot =
      draw_dot(graph_of(R"(op { name: "<b>\"&\n" type: "A>B" input: "gone:0" input: "" })"));
  EXPECT_THAT(dot, HasSubstr("&lt;b&gt;&quot;&amp;"));
  EXPECT_THAT(dot, HasSubstr("A&gt;B"));
  EXPECT_THAT(dot, Not(HasSubstr("->")));
}

// "MatMul_1" of type MatMul, a placeholder's Data: nothing that needs a line
TEST(DrawDot, TypesAreSaidOnce) {
  std::string dot =
      draw_dot(graph_of(R"(op { name: "MatMul_1" type: "MatMul" } op { name: "x" type: "Data" }
op { name: "Add_x" type: "Add" })"));
  EXPECT_THAT(dot, Not(HasSubstr("<td>MatMul</td>")));
  EXPECT_THAT(dot, Not(HasSubstr("<td>Data</td>")));
  EXPECT_THAT(dot, HasSubstr("<td>Add</td>"));
}

TEST(DrawDot, LongNamesLoseTheirBeginning) {
  std::string dot =
      draw_dot(graph_of("op { name: \"" + std::string(60, 'a') + "end\" type: \"A\" }"));
  EXPECT_THAT(dot, HasSubstr("…" + std::string(39, 'a') + "end</b>"));
}

}  // namespace
}  // namespace anabranch::formats
