#include "anabranch/formats/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "anabranch/formats/writer.h"
#include "random_dump.h"

namespace anabranch::formats {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

DumpGraph read_one(std::string_view text) {
  Dump dump = read_dump(text);
  EXPECT_TRUE(dump.diagnostics.empty()) << to_string(dump.diagnostics.at(0));
  EXPECT_EQ(dump.graphs.size(), 1u);
  return dump.graphs.empty() ? DumpGraph{} : dump.graphs[0];
}

std::string problem(std::string_view text) {
  Dump dump = read_dump(text);
  return dump.diagnostics.empty() ? ""
                                  : dump.diagnostics[0].rule + ": " + dump.diagnostics[0].message;
}

TEST(Detect, GoesByContent) {
  EXPECT_EQ(detect("node { name: \"a\" op: \"Add\" }"), DumpKind::TorchAirPbtxt);
  EXPECT_EQ(detect("# note\nname: \"g\" op { name: \"a\" }"), DumpKind::GeText);
  EXPECT_EQ(detect("graph { name: \"g\" op { name: \"a\" } }"), DumpKind::GeText);
  EXPECT_EQ(detect("graph { name: \"empty\" }"), DumpKind::GeText);
  EXPECT_EQ(detect("ir_version: 3 graph { node { op_type: \"ge:Add\" } }"), DumpKind::GeOnnx);
  EXPECT_EQ(detect("anabranch 1\ngraph \"g\" { return }"), DumpKind::Unknown);
  EXPECT_EQ(detect(""), DumpKind::Unknown);
}

// the form TorchAir writes: typed values as quoted proto text, descriptors under [i] and [o]
TEST(ReadTorchAir, TypedAttributesAndDescriptors) {
  DumpGraph graph = read_one(R"(node {
    name: "MatMul"
    op: "MatMul"
    input: "in3:0"
    input: ""
    input: "^Add"
    attr { key: "_user_stream_label" value { s: 's: "1"\n' } }
    attr { key: "_enable_inner_parallel" value { s: 'b: true\n' } }
    attr { key: "rank" value { s: 'i: -3\n' } }
    attr { key: "half" value { s: 'f: 0.5\n' } }
    attr { key: "names" value { s: 'list {\n  s: "x"\n  s: "it\'s"\n}\n' } }
    attr { key: "kind" value { s: 'dt: DT_FLOAT\n' } }
    attr { key: "[i]x1" value { s: 'name: "x1"\ndtype: DT_FLOAT16\nshape {\n  dim: 4\n  dim: -1\n}\nlayout: "ND"\ndevice_type: "NPU"\n' } }
    attr { key: "[o]y" value { s: "dtype: DT_NEW_IN_2030\nsize: 8\n" } }
})");
  const DumpOp& op = graph.ops.at(0);
  EXPECT_THAT(op.inputs, ElementsAre(DumpInput{"in3", 0}, DumpInput{"", 0}, DumpInput{"Add", -1}));
  EXPECT_EQ(op.attributes.at("_user_stream_label"), Attribute("1"));
  EXPECT_EQ(op.attributes.at("_enable_inner_parallel"), Attribute(true));
  EXPECT_EQ(op.attributes.at("rank"), Attribute(int64_t{-3}));
  EXPECT_EQ(op.attributes.at("half"), Attribute(0.5));
  EXPECT_EQ(op.attributes.at("names"), Attribute(std::vector<std::string>{"x", "it's"}));
  EXPECT_EQ(op.unparsed.at("kind"), "dt: DT_FLOAT\n");
  EXPECT_EQ(op.input_descs.at(0), (DumpTensor{"x1", "DT_FLOAT16", {4, -1}, "ND", "NPU", ""}));
  EXPECT_EQ(op.output_descs.at(0), (DumpTensor{"y", "DT_NEW_IN_2030", {}, "", "", "size: 8\n"}));
}

// what TensorFlow itself writes under `value` is no text of a GE message => kept
TEST(ReadTorchAir, PlainTensorFlowValues) {
  DumpGraph graph = read_one(R"(node { name: "c" op: "Conv2D" input: "x" input: "w:1" device: "/cpu"
    attr { key: "padding" value { s: "SAME" } } attr { key: "T" value { type: DT_HALF } } }
    library { } versions { producer: 9 })");
  const DumpOp& op = graph.ops.at(0);
  EXPECT_THAT(op.inputs, ElementsAre(DumpInput{"x", 0}, DumpInput{"w", 1}));
  EXPECT_EQ(op.attributes.at("padding"), Attribute("SAME"));
  EXPECT_EQ(op.unparsed.at("T"), "type: DT_HALF\n");
  EXPECT_EQ(op.unparsed.at("op.device"), "device: \"/cpu\"\n");
}

// names are not escaped by TorchAir's writer; they may hold colons
TEST(ReadTorchAir, AwkwardNames) {
  DumpGraph graph = read_one(
      "node {\n    name: \"a\"b:c\"\n    op: \"Add\"\n}\n"
      "node {\n    name: \"d\"\n    input: \"a\"b:c:2\"\n    input: \"^a\"b:c\"\n}\n");
  EXPECT_EQ(graph.ops.at(0).name, "a\"b:c");
  EXPECT_THAT(graph.ops.at(1).inputs, ElementsAre(DumpInput{"a\"b:c", 2}, DumpInput{"a\"b:c", -1}));
}

TEST(ReadGeText, OperatorsWithAndWithoutGraph) {
  constexpr std::string_view kOp =
      R"(op { name: "s/a" type: "Add" input: "x:0" input: "" input: "c:-1"
    attr { key: "l" value { list { i: 1 i: 2 val_type: VT_LIST_INT } } }
    attr { key: "e" value { list { val_type: VT_LIST_STRING } } }
    attr { key: "m" value { list_list_int { } } } attr { key: "b" value { bt: "\001\377" } }
    id: 7 stream_id: 3 input_name: "x" input_name: "c" output_desc { dtype: DT_FLOAT shape { dim: -2 } } })";
  for (std::string text : {std::string(kOp), "graph { name: \"g\" " + std::string(kOp) + "}"}) {
    DumpGraph graph = read_one(text);
    const DumpOp& op = graph.ops.at(0);
    EXPECT_THAT(op.inputs, ElementsAre(DumpInput{"x", 0}, DumpInput{"", 0}, DumpInput{"c", -1}));
    EXPECT_EQ(op.attributes.at("l"), Attribute(std::vector<int64_t>{1, 2}));
    EXPECT_EQ(op.attributes.at("e"), Attribute(std::vector<std::string>{}));
    EXPECT_EQ(op.attributes.at("stream_id"), Attribute(int64_t{3}));
    EXPECT_EQ(stream_label(op), "stream3");
    EXPECT_EQ(op.unparsed.at("m"), "list_list_int {\n}\n");
    EXPECT_EQ(op.unparsed.at("b"), "bt: \"\\001\\377\"\n");
    EXPECT_EQ(op.unparsed.at("op.input_name"), "input_name: \"x\"\ninput_name: \"c\"\n");
    EXPECT_THAT(op.output_descs.at(0).shape, ElementsAre(-2));
  }
}

TEST(ReadGeText, SeveralGraphs) {
  Dump dump = read_dump(
      "graph { name: \"a\" op { name: \"x\" } } graph { name: \"b\" } "
      "attr { key: \"stream_num\" value { i: 2 } }");
  ASSERT_EQ(dump.graphs.size(), 2u);
  EXPECT_EQ(dump.graphs[0].ops.size(), 1u);
  EXPECT_EQ(dump.graphs[1].name, "b");
}

TEST(ReadOnnx, NodesOfGe) {
  DumpGraph graph = read_one(R"(ir_version: 6 producer_name: "GE"
graph { name: "g" node { input: "a:0" input: "b:-1" output: "c:0" name: "c" op_type: "ge:MatMul"
  attribute { name: "stream_id" i: 2 type: INT } attribute { name: "dims" ints: 1 type: INTS }
  attribute { name: "none" type: INTS } attribute { name: "label" s: "q" type: STRING }
  attribute { name: "tags" strings: "p" strings: "q" type: STRINGS } attribute { name: "f" f: 1.5 type: FLOAT } }
  input { name: "in" } })");
  const DumpOp& op = graph.ops.at(0);
  EXPECT_EQ(op.type, "MatMul");
  EXPECT_THAT(op.inputs, ElementsAre(DumpInput{"a", 0}, DumpInput{"b", -1}));
  EXPECT_EQ(op.attributes.at("stream_id"), Attribute(int64_t{2}));
  EXPECT_EQ(op.attributes.at("dims"), Attribute(std::vector<int64_t>{1}));
  EXPECT_EQ(op.attributes.at("none"), Attribute(std::vector<int64_t>{}));
  EXPECT_EQ(op.attributes.at("label"), Attribute("q"));
  EXPECT_EQ(op.attributes.at("tags"), Attribute(std::vector<std::string>{"p", "q"}));
  EXPECT_THAT(op.unparsed.at("f"), HasSubstr("f: 1.5"));
  EXPECT_THAT(graph.unparsed, HasSubstr("input {"));
}

// a dump of GE itself (a part of a public test model)
TEST(ReadGeText, RealDump) {
  std::ifstream file(std::string(ANABRANCH_SOURCE_DIR) + "/tests/data/ge_origin.txt");
  std::stringstream text;
  text << file.rdbuf();
  DumpGraph graph = read_one(text.str());
  EXPECT_EQ(graph.name, "partition0_rank31_new_sub_graph102");
  ASSERT_EQ(graph.ops.size(), 4u);
  const DumpOp& pad = graph.ops[0];
  EXPECT_EQ(pad.type, "MirrorPad");
  EXPECT_EQ(pad.inputs.at(1), (DumpInput{"new_sub_graph102_PlaceHolder123", 0}));
  EXPECT_EQ(pad.attributes.at("_input_name_key"),
            Attribute(std::vector<std::string>{"paddings", "x"}));
  EXPECT_THAT(pad.unparsed.at("customized_op_def"), HasSubstr("MirrorPad"));
  EXPECT_THAT(pad.output_descs.at(0).shape, ElementsAre(1, 66, 66, 256));
}

TEST(ReadDump, SaysWhatIsWrong) {
  EXPECT_EQ(problem(""), "empty: the file is empty");
  EXPECT_EQ(problem(" \n\t"), "empty: the file is empty");
  EXPECT_EQ(problem("\x7f"
                    "ELF"),
            "not-a-dump: this is no graph dump of TorchAir or GE");
  EXPECT_EQ(problem("{\"a\": 1}"), "not-a-dump: this is no graph dump of TorchAir or GE");
  EXPECT_EQ(
      problem("op {\n name: \"a\"\n}\nop {\n name: \"b\"\n type: \"A"),
      "truncated: line 6: the text ends in the string that begins at line 6; 1 operators were "
      "read, 'b' is cut off and left out");
  EXPECT_EQ(problem("node { name: \"a\" }\n}"),
            "syntax: line 2: '}' closes nothing; 1 operators were read");
}

// every prefix of a dump => operators that were whole, a report exactly when something is missing
TEST(ReadDump, EveryTruncation) {
  DumpGraph graph = random_dump(7, 4);
  for (const std::string& text : {write_ge_text(graph), write_torchair_pbtxt(graph)}) {
    for (size_t size = 0; size < text.size(); ++size) {
      Dump dump = read_dump(std::string_view(text).substr(0, size));
      size_t count = dump.graphs.empty() ? 0 : dump.graphs[0].ops.size();
      ASSERT_LE(count, graph.ops.size());
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(dump.graphs[0].ops[i], graph.ops[i]) << size;
      std::string_view prefix = std::string_view(text).substr(0, size);
      bool whole = prefix.ends_with("\n}") || prefix.ends_with("\n}\n");
      ASSERT_EQ(dump.diagnostics.empty(), whole) << prefix;
    }
  }
}

// bytes changed at random => no crash, no endless loop
TEST(ReadDump, Noise) {
  std::mt19937 random(1);
  std::string text = write_ge_text(random_dump(3, 6)) + write_torchair_pbtxt(random_dump(4, 6));
  for (int round = 0; round < 300; ++round) {
    std::string noisy = text;
    for (int k = 0; k < 5; ++k) {
      noisy[random() % noisy.size()] = "{}<>[]:\"'\\#\n-0a\xff"[random() % 16];
    }
    Dump dump = read_dump(noisy);
    EXPECT_LE(dump.graphs.size(), noisy.size());
  }
}

}  // namespace
}  // namespace anabranch::formats
