#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "anabranch/formats/formats.h"
#include "anabranch/ir/text.h"

namespace anabranch::formats {
namespace {

using testing::HasSubstr;

/// The first graph of the dump as graph text, without the first and the last line.
std::string graph_text(std::string_view dump_text) {
  Dump dump = read_dump(dump_text);
  EXPECT_TRUE(dump.diagnostics.empty());
  std::string text = print_graph(from_dump(dump.graphs.at(0)));
  EXPECT_EQ(print_graph(parse_graph(text)), text);
  size_t begin = text.find("{\n") + 2;
  return text.substr(begin, text.rfind('}') - begin);
}

std::string error_of(std::string_view dump_text) {
  try {
    from_dump(read_dump(dump_text).graphs.at(0));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// operators out of order => producers first, file order between the others
TEST(FromDump, SortsAndKeepsFileOrder) {
  EXPECT_EQ(graph_text(R"(
op { name: "NetOutput" type: "NetOutput" input: "c:0" input: "" }
op { name: "c" type: "Add" input: "b:0" input: "a:1" input: "" output_desc { dtype: DT_INT32 shape { dim: 2 } } }
op { name: "b" type: "Const" output_desc { dtype: DT_INT32 shape { dim: 2 } } }
op { name: "a" type: "Split" input: "x:0" }
op { name: "x" type: "Data" output_desc { dtype: DT_FLOAT16 shape { dim: 2 dim: -1 } } })"),
            R"(  %b = constant : i32[2] @b0
  %x = input : f16[2,unknown0] @b1
  %a.0, %a.1 = ^a Split(%x) : u8[unknown1] @b2, u8[unknown2] @b3
  %c = Add(%b, %a.1, none) : i32[2] @b4
  return %c, none
)");
}

// Identity with a control input is a user's wait, another control input orders effects
TEST(FromDump, WaitsAndControlEdges) {
  EXPECT_EQ(graph_text(R"(
node { name: "x" op: "Data" attr { key: "[o]y" value { s: 'dtype: DT_FLOAT\nshape {\n  dim: 4\n}\n' } } }
node { name: "a" op: "Relu" input: "x:0" attr { key: "[o]y" value { s: 'dtype: DT_FLOAT\nshape {\n  dim: 4\n}\n' } } }
node { name: "w" op: "Identity" input: "x:0" input: "^a" attr { key: "_user_stream_label" value { s: 's: "1"\n' } } }
node { name: "i" op: "Identity" input: "x:0" }
node { name: "r" op: "Relu" input: "w:0" input: "^i" attr { key: "_anabranch_writes" value { s: 'list {\n  i: 0\n}\n' } } attr { key: "_stream_label" value { s: 's: "2"\n' } } }
node { name: "o" op: "NetOutput" input: "r:0" input: "^a" })"),
            R"(  %x = input : f32[4] @b0
  %a = Relu(%x) : f32[4] @b1
  %w = wait(%x) after(^a) {"_user_stream_label": "1"} : f32[4] @b0
  ^i Identity(%x)
  %r = Relu(%w) writes(%w) after(effect ^i) {"_stream_label": "2", "_user_stream_label": "2"} : f32[4] @b0
  return %r
)");
}

// taken from its label's stream to the default one: "" wins over the label
TEST(FromDump, TheDefaultStreamCanBeAssigned) {
  EXPECT_EQ(graph_text(R"(
node { name: "a" op: "Relu" attr { key: "_user_stream_label" value { s: 's: "2"\n' } } attr { key: "_stream_label" value { s: 's: ""\n' } } })"),
            R"(  ^a Relu() {"_stream_label": "", "_user_stream_label": ""}
  return 
)");
}

// stream_id and event pairs of GE
TEST(FromDump, GeStreamsAndEvents) {
  std::string text = graph_text(R"(graph { name: "g"
op { name: "r" type: "Recv" stream_id: 1 attr { key: "event_id" value { i: 4 } } }
op { name: "s" type: "Send" stream_id: 0 attr { key: "event_id" value { i: 4 } } } })");
  EXPECT_EQ(text, R"(  ^s Send() {"event_id": 4, "stream_id": 0}
  ^r Recv() after(^s) {"_user_stream_label": "stream1", "event_id": 4, "stream_id": 1}
  return 
)");
}

// graph => dump => graph: memory, views, writes, effects, lines are the same
TEST(FromDump, KeepsMemory) {
  Graph graph = from_dump(to_dump(parse_graph(R"(anabranch 1
graph "g" {
  %x = input : f32[4,s0] @b0
  %n = input : int(s0)
  %v = view aten.select.int(%x, 0, 1) : f32[s0]+s0 @b0
  %a = aten.add_.Tensor(%v, 1) writes(%v) : f32[s0]+s0 @b0
  %c = aten.clone.default(%x) : f32[4,s0](1,4) @b1
  %r = aten.normal_.default(%c) writes(%c) effects(random "cpu") : f32[4,s0](1,4) @b1 at "m.py" 3 in "f"
  return %r
})")));
  EXPECT_EQ(print_graph(graph), R"(anabranch 1
graph "g" {
  %x = input : f32[4,s0] @b0
  %n = input : int(s0)
  %StridedSlice = view StridedSlice(%x) {"_arg1": 0, "_arg2": 1} : f32[s0]+s0 @b0
  %Add = Add(%StridedSlice) writes(%StridedSlice) {"_arg1": 1} : f32[s0]+s0 @b0
  %TensorMove = TensorMove(%x) : f32[4,s0](1,4) @b1
  %Normal = Normal(%TensorMove) writes(%TensorMove) effects(random "cpu") : f32[4,s0](1,4) @b1 at "m.py" 3 in "f"
  return %Normal
}
)");
}

TEST(FromDump, SaysWhatIsWrong) {
  EXPECT_THAT(
      error_of("op { name: \"a\" type: \"A\" input: \"b:0\" input: \"c:-1\" } op { name: \"a\" }"),
      testing::AllOf(HasSubstr("error[duplicate-name]: two operators are named 'a'"),
                     HasSubstr("error[unknown-producer]: 'a' (A) reads 'b'"),
                     HasSubstr("reads 'c'")));
  EXPECT_THAT(error_of("op { name: \"a\" input: \"b:0\" } op { name: \"b\" input: \"c:0\" } "
                       "op { name: \"c\" input: \"a:0\" } op { name: \"d\" input: \"a:0\" }"),
              HasSubstr("error[cycle]: data and waits run in a circle: 'a' → 'c' → 'b' → 'a'"));
  EXPECT_THAT(error_of("op { name: \"a\" input: \"a:0\" }"), HasSubstr("circle: 'a' → 'a'"));
  EXPECT_THAT(error_of("op { name: \"a\" } op { name: \"b\" input: \"a:99999999999\" }"),
              HasSubstr("error[bad-input]"));
  EXPECT_THAT(error_of("op { name: \"n\" type: \"NetOutput\" } op { name: \"b\" input: \"n:0\" }"),
              HasSubstr("error[bad-input]"));
  EXPECT_THAT(
      error_of("op { name: \"a\" attr { key: \"_anabranch_writes\" value { list { i: 0 } } } }"),
      HasSubstr("error[bad-attribute]"));
  EXPECT_THAT(error_of("op { name: \"a\" attr { key: \"_anabranch_memory\" value { list { s: "
                       "\"f99[] @b0\" } } } "
                       "output_desc { } }"),
              HasSubstr("unknown dtype"));
  EXPECT_THAT(error_of("op { name: \"a\" attr { key: \"_anabranch_memory\" value { list { s: "
                       "\"f32[1] @b0 in q:0\" } } } "
                       "output_desc { } }"),
              HasSubstr("error[bad-attribute]"));
}

}  // namespace
}  // namespace anabranch::formats
