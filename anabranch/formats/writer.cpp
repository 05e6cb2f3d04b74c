#include "anabranch/formats/writer.h"

#include <fmt/format.h>

#include <set>
#include <string_view>

#include "anabranch/formats/quoting.h"
#include "anabranch/ir/argument.h"

namespace anabranch::formats {
namespace {

/// Proto text of a GE AttrDef that holds the attribute, at no indentation.
struct AttributeText {
  std::string operator()(bool value) const { return fmt::format("b: {}\n", value); }
  std::string operator()(int64_t value) const { return fmt::format("i: {}\n", value); }
  std::string operator()(double value) const { return fmt::format("f: {}\n", print_real(value)); }
  std::string operator()(const std::string& value) const {
    return fmt::format("s: {}\n", quote_bytes(value));
  }
  std::string operator()(const std::vector<int64_t>& values) const {
    std::string text = "list {\n";
    for (int64_t value : values) text += fmt::format("  i: {}\n", value);
    // Only the type tells an empty list of integers from an empty list of strings.
    if (values.empty()) text += "  val_type: VT_LIST_INT\n";
    return text + "}\n";
  }
  std::string operator()(const std::vector<std::string>& values) const {
    std::string text = "list {\n";
    for (const std::string& value : values) text += fmt::format("  s: {}\n", quote_bytes(value));
    if (values.empty()) text += "  val_type: VT_LIST_STRING\n";
    return text + "}\n";
  }
};

std::string indented(std::string_view text, std::string_view indent) {
  std::string out;
  while (!text.empty()) {
    size_t end = text.find('\n');
    size_t length = end == std::string_view::npos ? text.size() : end + 1;
    out += indent;
    out += text.substr(0, length);
    text.remove_prefix(length);
  }
  return out;
}

/// Proto text of a GE TensorDescriptor. A pbtxt key cannot carry an empty name, so there the name
/// is always written.
std::string descriptor_text(const DumpTensor& tensor, bool always_name) {
  std::string text;
  if (always_name || !tensor.name.empty())
    text += fmt::format("name: {}\n", quote_bytes(tensor.name));
  if (!tensor.dtype.empty()) text += fmt::format("dtype: {}\n", tensor.dtype);
  text += "shape {\n";
  for (int64_t dim : tensor.shape) text += fmt::format("  dim: {}\n", dim);
  text += "}\n";
  if (!tensor.layout.empty()) text += fmt::format("layout: {}\n", quote_bytes(tensor.layout));
  text += tensor.unparsed;
  if (!tensor.device_type.empty()) {
    text += fmt::format("device_type: {}\n", quote_bytes(tensor.device_type));
  }
  return text;
}

constexpr std::string_view kOperatorField = "op.";

class PbtxtWriter {
 public:
  std::string write(const DumpGraph& graph) {
    for (const DumpOp& op : graph.ops) write_op(op);
    return std::move(text_);
  }

 private:
  void write_op(const DumpOp& op) {
    text_ += fmt::format("node {{\n    name: {}\n    op: {}\n", quote_name(op.name),
                         quote_name(op.type));
    for (const DumpInput& input : op.inputs) {
      text_ += fmt::format("    input: {}\n", quote_name(input_text(input)));
    }
    for (const auto& [key, value] : op.attributes)
      write_attribute(key, std::visit(AttributeText{}, value));
    for (const auto& [key, value] : op.unparsed) write_attribute(key, value);
    write_descriptors("[i]", op.input_descs);
    write_descriptors("[o]", op.output_descs);
    text_ += "}\n";
  }

  static std::string input_text(const DumpInput& input) {
    if (input.control()) return "^" + input.producer;
    if (input.producer.empty()) return "";
    return fmt::format("{}:{}", input.producer, input.index);
  }

  // Attributes are a map for other readers: two descriptors must not share a key.
  void write_descriptors(std::string_view prefix, const std::vector<DumpTensor>& tensors) {
    std::set<std::string> used;
    for (size_t i = 0; i < tensors.size(); ++i) {
      std::string name = tensors[i].name;
      if (name.empty()) name = std::to_string(i);
      while (!used.insert(name).second) name += fmt::format("_{}", i);
      write_attribute(std::string(prefix) + name,
                      descriptor_text(tensors[i], name != tensors[i].name));
    }
  }

  void write_attribute(std::string_view key, std::string_view value) {
    text_ += fmt::format(
        "    attr {{\n        key: {}\n        value {{\n            s: {}\n        }}\n    }}\n",
        quote_name(key), quote_python(value));
  }

  std::string text_;
};

class GeTextWriter {
 public:
  std::string write(const DumpGraph& graph) {
    if (!graph.name.empty()) text_ += fmt::format("name: {}\n", quote_name(graph.name));
    for (const DumpOp& op : graph.ops) write_op(op);
    text_ += graph.unparsed;
    return std::move(text_);
  }

 private:
  void write_op(const DumpOp& op) {
    text_ +=
        fmt::format("op {{\n  name: {}\n  type: {}\n", quote_name(op.name), quote_name(op.type));
    for (const DumpInput& input : op.inputs) {
      std::string source =
          input.producer.empty() ? "" : fmt::format("{}:{}", input.producer, input.index);
      text_ += fmt::format("  input: {}\n", quote_name(source));
    }
    for (const auto& [key, value] : op.attributes)
      write_attribute(key, std::visit(AttributeText{}, value));
    for (const auto& [key, value] : op.unparsed) {
      if (key.rfind(kOperatorField, 0) == 0) {
        text_ += indented(value, "  ");
      } else {
        write_attribute(key, value);
      }
    }
    for (const DumpTensor& tensor : op.input_descs) write_descriptor("input_desc", tensor);
    for (const DumpTensor& tensor : op.output_descs) write_descriptor("output_desc", tensor);
    text_ += "}\n";
  }

  void write_descriptor(std::string_view field, const DumpTensor& tensor) {
    text_ +=
        fmt::format("  {} {{\n{}  }}\n", field, indented(descriptor_text(tensor, false), "    "));
  }

  void write_attribute(std::string_view key, std::string_view value) {
    text_ += fmt::format("  attr {{\n    key: {}\n    value {{\n{}    }}\n  }}\n", quote_name(key),
                         indented(value, "      "));
  }

  std::string text_;
};

}  // namespace

std::string write_torchair_pbtxt(const DumpGraph& graph) { return PbtxtWriter().write(graph); }

std::string write_ge_text(const DumpGraph& graph) { return GeTextWriter().write(graph); }

}  // namespace anabranch::formats
