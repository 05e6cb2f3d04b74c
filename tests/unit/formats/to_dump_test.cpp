#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "anabranch/formats/formats.h"
#include "anabranch/ir/text.h"

namespace anabranch::formats {
namespace {

using testing::ElementsAre;

DumpGraph dump_of(const std::string& body) {
  return to_dump(parse_graph("anabranch 1\ngraph \"g\" {\n" + body + "\n}"));
}

std::vector<std::string> names(const DumpGraph& dump) {
  std::vector<std::string> out;
  for (const DumpOp& op : dump.ops) out.push_back(op.name);
  return out;
}

const DumpOp& find(const DumpGraph& dump, const std::string& name) {
  for (const DumpOp& op : dump.ops) {
    if (op.name == name) return op;
  }
  ADD_FAILURE() << "no operator " << name;
  return dump.ops[0];
}

TEST(GeType, FunctionalFormsAndStrangers) {
  EXPECT_EQ(ge_type("aten.add.Tensor"), "Add");
  EXPECT_EQ(ge_type("aten.add_.Tensor"), "Add");
  EXPECT_EQ(ge_type("aten.add.out"), "Add");
  EXPECT_EQ(ge_type("aten.mm.default"), "MatMul");
  EXPECT_EQ(ge_type("aten.bmm.default"), "BatchMatMul");
  EXPECT_EQ(ge_type("aten._to_copy.default"), "Cast");
  EXPECT_EQ(ge_type("aten.erfinv.default"), "aten.erfinv.default");
  EXPECT_EQ(ge_type("mylib.add.default"), "mylib.add.default");
  EXPECT_EQ(ge_type("Conv2D"), "Conv2D");
  EXPECT_EQ(ge_type(""), "");
}

TEST(GeType, DTypesMapBothWays) {
  for (int i = 0; i <= static_cast<int>(DType::C128); ++i) {
    EXPECT_EQ(from_ge_dtype(ge_dtype(static_cast<DType>(i))), static_cast<DType>(i));
  }
  EXPECT_EQ(from_ge_dtype("DT_STRING"), std::nullopt);
}

// the two-stream example of the README
TEST(ToDump, TwoStreams) {
  DumpGraph dump = dump_of(R"(
  %in1 = input : f16[4,4] @b0
  %in2 = input : f16[4,4] @b1
  %in3 = input : f16[4,4] @b2
  %in4 = input : f16[4,4] @b3
  %add = aten.add.Tensor(%in1, %in2) : f16[4,4] @b4
  %alias = wait (%in4) after(^add) {"_user_stream_label": "1"} : f16[4,4] @b3
  %mm = aten.mm.default(%in3, %alias) {"_user_stream_label": "1"} : f16[4,4] @b5
  %mm_1 = aten.mm.default(%in3, %alias) : f16[4,4] @b6
  %alias_1 = wait (%alias) after(^mm) {"_user_stream_label": "2"} : f16[4,4] @b3
  %add_1 = aten.add.Tensor(%in3, %alias_1) {"_user_stream_label": "2"} : f16[4,4] @b7
  return %add, %mm, %mm_1, %add_1)");
  EXPECT_THAT(names(dump), ElementsAre("in1", "in2", "in3", "in4", "Add", "Identity", "MatMul",
                                       "MatMul_1", "Identity_1", "Add_1", "NetOutput"));
  EXPECT_THAT(find(dump, "Identity").inputs,
              ElementsAre(DumpInput{"in4", 0}, DumpInput{"Add", -1}));
  EXPECT_THAT(find(dump, "Identity_1").inputs,
              ElementsAre(DumpInput{"Identity", 0}, DumpInput{"MatMul", -1}));
  EXPECT_THAT(find(dump, "NetOutput").inputs,
              ElementsAre(DumpInput{"Add", 0}, DumpInput{"MatMul", 0}, DumpInput{"MatMul_1", 0},
                          DumpInput{"Add_1", 0}));
  EXPECT_TRUE(find(dump, "MatMul_1").attributes.empty());
  EXPECT_EQ(find(dump, "MatMul").attributes, (Attributes{{"_user_stream_label", "1"}}));
  EXPECT_EQ(find(dump, "MatMul").output_descs.at(0),
            (DumpTensor{"y", "DT_FLOAT16", {4, 4}, "ND", "NPU", ""}));
}

// captured, waits not resolved yet: the dependency's producer is the control input all the same
TEST(ToDump, UnresolvedWait) {
  DumpGraph dump = dump_of(R"(
  %x = input : f32[4] @b0
  %a = aten.relu.default(%x) : f32[4] @b1
  %i = wait 0 (%x) : f32[4] @b0
  ^d wait_dependency 0 (%a)
  return %i)");
  EXPECT_THAT(names(dump), ElementsAre("x", "Relu", "Identity", "NetOutput"));
  EXPECT_THAT(find(dump, "Identity").inputs, ElementsAre(DumpInput{"x", 0}, DumpInput{"Relu", -1}));
}

// assigned streams => _stream_label; data operators carry no label at all
TEST(ToDump, StreamLabels) {
  DumpGraph dump = dump_of(R"(
  stream 1 "s" priority 0 inner_parallel true
  %x = input {"_user_stream_label": "s", "other": 1} : f32[4] @b0
  %a = aten.relu.default(%x) stream 1 : f32[4] @b1
  return %a)");
  EXPECT_EQ(find(dump, "x").attributes, (Attributes{{"other", int64_t{1}}}));
  EXPECT_EQ(find(dump, "Relu").attributes, (Attributes{{"_stream_label", "s"}}));
}

// in-place and out= => type of the functional form, written inputs by number
TEST(ToDump, Writes) {
  DumpGraph dump = dump_of(R"(
  %x = input : f32[4] @b0
  %o = input : f32[4] @b1
  %a = aten.add_.Tensor(%x, 1) writes(%x) : f32[4] @b0
  %b = aten.add.out(%x, %x, out=%o) writes(%o) : f32[4] @b1
  return %b)");
  EXPECT_EQ(find(dump, "Add").attributes,
            (Attributes{{"_anabranch_writes", std::vector<int64_t>{0}}, {"_arg1", int64_t{1}}}));
  EXPECT_EQ(find(dump, "Add_1").attributes,
            (Attributes{{"_anabranch_writes", std::vector<int64_t>{2}}}));
}

// literals under keyword or position, lists of values as inputs, sizes as text
TEST(ToDump, Literals) {
  DumpGraph dump = dump_of(R"(
  %x = input : f32[4,s0] @b0
  %i = input : i64[2] @b1
  %s = input : int(s0)
  %n = size : int((s0*2))
  %c = aten.cat.default([%x, %x], 1) : f32[4,(s0*2)] @b2
  %g = aten.index.Tensor(%x, [none, %i]) : f32[4,2] @b3
  %v = view aten.view.default(%c, [4, %n]) : f32[4,(s0*2)] @b2
  %f = aten.full.default([4, %s], 0.5, dtype=dtype(f16), device=device("cpu"), pin_memory=false) : f16[4,s0] @b4
  return %c, %n, 3)");
  EXPECT_EQ(find(dump, "ConcatV2").attributes.at("_arg1"), Attribute(int64_t{1}));
  EXPECT_EQ(find(dump, "ConcatV2").inputs.size(), 2u);
  EXPECT_EQ(find(dump, "Index").attributes.at("_arg1"), Attribute("[none, input 1]"));
  EXPECT_EQ(find(dump, "Reshape").attributes.at("_arg1"), Attribute("[4, (s0*2)]"));
  const DumpOp& fill = find(dump, "Fill");
  EXPECT_THAT(fill.inputs, ElementsAre(DumpInput{"s", 0}));
  EXPECT_EQ(fill.attributes.at("_arg0"), Attribute("[4, input 0]"));
  EXPECT_EQ(fill.attributes.at("_arg1"), Attribute(0.5));
  EXPECT_EQ(fill.attributes.at("dtype"), Attribute("f16"));
  EXPECT_EQ(fill.attributes.at("device"), Attribute("cpu"));
  EXPECT_EQ(fill.attributes.at("pin_memory"), Attribute(false));
  EXPECT_THAT(find(dump, "NetOutput").inputs,
              ElementsAre(DumpInput{"ConcatV2", 0}, DumpInput{}, DumpInput{}));
  EXPECT_THAT(find(dump, "ConcatV2").output_descs.at(0).shape, ElementsAre(4, -1));
}

// views are operators that name the memory they look at
TEST(ToDump, Views) {
  DumpGraph dump = dump_of(R"(
  %w = constant : f32[4,8] @b0
  %t = view aten.t.default(%w) : f32[8,4](1,8) @b0
  %y, %z = view aten.split.Tensor(%t, 4) : f32[4,4](1,8) @b0, f32[4,4](1,8)+4 @b0
  return %z)");
  EXPECT_EQ(find(dump, "Transpose").attributes.at("_anabranch_memory"),
            Attribute(std::vector<std::string>{"f32[8,4](1,8) @b0 view of Const:0"}));
  EXPECT_EQ(find(dump, "SplitD").output_descs.size(), 2u);
  EXPECT_THAT(find(dump, "NetOutput").inputs, ElementsAre(DumpInput{"SplitD", 1}));
}

// a placeholder that has an operator's name keeps it; the operator gets the next number
TEST(ToDump, NamesAreUnique) {
  DumpGraph dump = dump_of(R"(
  %x = input : f32[4] @b0
  %Add = input : f32[4] @b1
  %a = aten.add.Tensor(%x, %Add) : f32[4] @b2
  %b = aten.erfinv.default(%a) : f32[4] @b3
  %c = aten.erfinv.default(%b) : f32[4] @b4
  return %c)");
  EXPECT_THAT(names(dump), ElementsAre("x", "Add", "Add_1", "aten.erfinv.default",
                                       "aten.erfinv.default_1", "NetOutput"));
}

// two results that share one fresh buffer, effects, source line, a body
TEST(ToDump, Facts) {
  DumpGraph dump = dump_of(R"(
  %p = input : bool[] @b0
  %a, %b = mylib.pair.default(%p) effects(random "cpu", collective "g 1") : f32[4] @b1, f32[2]+2 @b1 at "m.py" 7 in "f"
  %c = cond(%p) body graph "then" { return } : f32[4] @b2
  return %b)");
  const DumpOp& pair = find(dump, "mylib.pair.default");
  EXPECT_EQ(pair.attributes.at("_anabranch_memory"),
            Attribute(std::vector<std::string>{"", "f32[2]+2 @b1 in mylib.pair.default:0"}));
  EXPECT_EQ(pair.attributes.at("_anabranch_effects"),
            Attribute(std::vector<std::string>{"random cpu", "collective g 1"}));
  EXPECT_EQ(pair.attributes.at("_anabranch_source"), Attribute("m.py:7 in f"));
  EXPECT_EQ(find(dump, "cond").attributes.count("_anabranch_body0"), 1u);
  EXPECT_EQ(to_dump(from_dump(dump)), dump);
}

}  // namespace
}  // namespace anabranch::formats
