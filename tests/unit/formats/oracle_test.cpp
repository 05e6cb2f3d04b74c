// protobuf's own text parser and printer against ours, field by field.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "anabranch/formats/formats.h"
#include "ge.pb.h"
#include "random_dump.h"
#include "tensorflow.pb.h"

namespace anabranch::formats {
namespace {

using google::protobuf::TextFormat;

void expect_input(const DumpInput& input, const std::string& text) {
  if (input.producer.empty()) {
    EXPECT_EQ(text, "");
  } else {
    EXPECT_EQ(text, input.producer + ":" + std::to_string(input.index));
  }
}

struct AttributeCheck {
  const oracle::ge::AttrDef& proto;
  void operator()(bool value) const {
    EXPECT_TRUE(proto.has_b());
    EXPECT_EQ(proto.b(), value);
  }
  void operator()(int64_t value) const {
    EXPECT_TRUE(proto.has_i());
    EXPECT_EQ(proto.i(), value);
  }
  void operator()(double value) const {
    EXPECT_TRUE(proto.has_f());
    EXPECT_EQ(proto.f(), value);
  }
  void operator()(const std::string& value) const {
    EXPECT_TRUE(proto.has_s());
    EXPECT_EQ(proto.s(), value);
  }
  void operator()(const std::vector<int64_t>& values) const {
    EXPECT_EQ(std::vector<int64_t>(proto.list().i().begin(), proto.list().i().end()), values);
  }
  void operator()(const std::vector<std::string>& values) const {
    EXPECT_EQ(std::vector<std::string>(proto.list().s().begin(), proto.list().s().end()), values);
  }
};

void expect_tensor(const DumpTensor& tensor, const oracle::ge::TensorDescriptor& proto) {
  EXPECT_EQ(proto.name(), tensor.name);
  EXPECT_EQ(oracle::ge::DataType_Name(proto.dtype()), tensor.dtype);
  EXPECT_EQ(std::vector<int64_t>(proto.shape().dim().begin(), proto.shape().dim().end()),
            tensor.shape);
  EXPECT_EQ(proto.layout(), tensor.layout);
  EXPECT_EQ(proto.device_type(), tensor.device_type);
  EXPECT_EQ(proto.has_out_attr(), tensor.unparsed == "has_out_attr: true\n");
}

void expect_op(const DumpOp& op, const oracle::ge::OpDef& proto) {
  EXPECT_EQ(proto.name(), op.name);
  EXPECT_EQ(proto.type(), op.type);
  ASSERT_EQ(proto.input_size(), static_cast<int>(op.inputs.size()));
  for (int i = 0; i < proto.input_size(); ++i) expect_input(op.inputs[i], proto.input(i));
  EXPECT_EQ(proto.attr_size(), static_cast<int>(op.attributes.size() + op.unparsed.size()));
  for (const auto& [key, value] : op.attributes) {
    ASSERT_EQ(proto.attr().count(key), 1u) << key;
    std::visit(AttributeCheck{proto.attr().at(key)}, value);
  }
  for (const auto& [key, text] : op.unparsed) {
    std::string printed;
    ASSERT_TRUE(TextFormat::PrintToString(proto.attr().at(key), &printed));
    EXPECT_EQ(printed, text);
  }
  ASSERT_EQ(proto.input_desc_size(), static_cast<int>(op.input_descs.size()));
  for (int i = 0; i < proto.input_desc_size(); ++i) {
    expect_tensor(op.input_descs[i], proto.input_desc(i));
  }
  ASSERT_EQ(proto.output_desc_size(), static_cast<int>(op.output_descs.size()));
  for (int i = 0; i < proto.output_desc_size(); ++i) {
    expect_tensor(op.output_descs[i], proto.output_desc(i));
  }
}

class Oracle : public testing::TestWithParam<unsigned> {};

// what we write as GE text, protobuf reads, field by field
TEST_P(Oracle, ReadsOurGeText) {
  DumpGraph graph = random_dump(GetParam(), 8);
  graph.name = "a \"graph\"";
  oracle::ge::GraphDef proto;
  ASSERT_TRUE(TextFormat::ParseFromString(write_ge_text(graph), &proto));
  EXPECT_EQ(proto.name(), graph.name);
  ASSERT_EQ(proto.op_size(), static_cast<int>(graph.ops.size()));
  for (int i = 0; i < proto.op_size(); ++i) expect_op(graph.ops[i], proto.op(i));
}

// what protobuf prints, on many lines or on one, we read
TEST_P(Oracle, ItsGeTextIsRead) {
  DumpGraph graph = random_dump(GetParam(), 8);
  graph.name = "g";
  oracle::ge::GraphDef proto;
  ASSERT_TRUE(TextFormat::ParseFromString(write_ge_text(graph), &proto));
  for (bool one_line : {false, true}) {
    TextFormat::Printer printer;
    printer.SetSingleLineMode(one_line);
    printer.SetUseShortRepeatedPrimitives(one_line);
    std::string text;
    ASSERT_TRUE(printer.PrintToString(proto, &text));
    Dump dump = read_dump(text);
    ASSERT_TRUE(dump.diagnostics.empty()) << to_string(dump.diagnostics[0]) << text;
    EXPECT_EQ(dump.graphs.at(0), graph);
  }
}

// the model around several graphs
TEST_P(Oracle, ItsModelIsRead) {
  oracle::ge::ModelDef model;
  std::vector<DumpGraph> graphs{random_dump(GetParam(), 3), random_dump(GetParam() + 1000, 4)};
  for (DumpGraph& graph : graphs) {
    graph.name = "g";
    ASSERT_TRUE(TextFormat::ParseFromString(write_ge_text(graph), model.add_graph()));
  }
  (*model.mutable_attr())["stream_num"].set_i(3);
  std::string text;
  ASSERT_TRUE(TextFormat::PrintToString(model, &text));
  Dump dump = read_dump(text);
  EXPECT_EQ(dump.kind, DumpKind::GeText);
  EXPECT_EQ(dump.graphs, graphs);
}

// what we write as TorchAir pbtxt, protobuf reads as TensorFlow's GraphDef; each `s` holds the text
// of a GE message
TEST_P(Oracle, ReadsOurPbtxt) {
  DumpGraph graph = random_dump(GetParam(), 8);
  oracle::tensorflow::GraphDef proto;
  ASSERT_TRUE(TextFormat::ParseFromString(write_torchair_pbtxt(graph), &proto));
  ASSERT_EQ(proto.node_size(), static_cast<int>(graph.ops.size()));
  for (int i = 0; i < proto.node_size(); ++i) {
    const DumpOp& op = graph.ops[i];
    const oracle::tensorflow::NodeDef& node = proto.node(i);
    EXPECT_EQ(node.name(), op.name);
    EXPECT_EQ(node.op(), op.type);
    ASSERT_EQ(node.input_size(), static_cast<int>(op.inputs.size()));
    for (int k = 0; k < node.input_size(); ++k) {
      if (op.inputs[k].control()) {
        EXPECT_EQ(node.input(k), "^" + op.inputs[k].producer);
      } else {
        expect_input(op.inputs[k], node.input(k));
      }
    }
    for (const auto& [key, value] : op.attributes) {
      ASSERT_EQ(node.attr().count(key), 1u) << key;
      oracle::ge::AttrDef attribute;
      ASSERT_TRUE(TextFormat::ParseFromString(node.attr().at(key).s(), &attribute));
      std::visit(AttributeCheck{attribute}, value);
    }
    for (const DumpTensor& tensor : op.output_descs) {
      oracle::ge::TensorDescriptor descriptor;
      ASSERT_TRUE(
          TextFormat::ParseFromString(node.attr().at("[o]" + tensor.name).s(), &descriptor));
      expect_tensor(tensor, descriptor);
    }
  }
}

// what protobuf prints of that, with its own quoting, we read
TEST_P(Oracle, ItsPbtxtIsRead) {
  DumpGraph graph = random_dump(GetParam(), 8);
  oracle::tensorflow::GraphDef proto;
  ASSERT_TRUE(TextFormat::ParseFromString(write_torchair_pbtxt(graph), &proto));
  std::string text;
  ASSERT_TRUE(TextFormat::PrintToString(proto, &text));
  Dump dump = read_dump(text);
  ASSERT_TRUE(dump.diagnostics.empty()) << to_string(dump.diagnostics[0]);
  EXPECT_EQ(dump.kind, DumpKind::TorchAirPbtxt);
  EXPECT_EQ(dump.graphs.at(0), graph);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Oracle, testing::Range(0u, 40u));

}  // namespace
}  // namespace anabranch::formats
