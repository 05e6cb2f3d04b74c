#include "anabranch/formats/reader.h"

#include <fmt/format.h>

#include "anabranch/formats/field_tree.h"

namespace anabranch::formats {
namespace {

constexpr std::string_view kOperatorField = "op.";

std::string text_of(const Field& field) { return std::string(field.text); }

std::optional<int64_t> integer_of(const Field& field) {
  if (field.kind != FieldKind::Scalar) return std::nullopt;
  return parse_integer(field.text);
}

/// "x:3" → {x, 3}; the last colon counts, since names may hold others; without one, output 0.
DumpInput split_input(std::string_view text) {
  size_t colon = text.rfind(':');
  if (colon != std::string_view::npos && colon + 1 < text.size()) {
    if (auto index = parse_integer(text.substr(colon + 1)); index && *index >= -1) {
      return {std::string(text.substr(0, colon)), *index};
    }
  }
  return {std::string(text), 0};
}

/// TensorFlow's form: "^x" is a control input.
DumpInput split_tensorflow_input(std::string_view text) {
  if (text.empty() || text[0] != '^') return split_input(text);
  text.remove_prefix(1);
  DumpInput input = split_input(text);
  return {input.index == -1 ? input.producer : std::string(text), -1};
}

/// Reads the fields of a GE AttrDef that lie between `first` and `last`.
class AttributeReader {
 public:
  explicit AttributeReader(const FieldTree& tree) : tree_(tree) {}

  /// Empty for kinds that Attribute does not model.
  std::optional<Attribute> read(uint32_t first, uint32_t last) const {
    if (first == last || tree_[first].end != last) return std::nullopt;
    const Field& field = tree_[first];
    if (field.name == "list" && field.kind == FieldKind::Message) return read_list(first);
    if (field.name == "s" && field.kind == FieldKind::String) return text_of(field);
    if (field.kind != FieldKind::Scalar) return std::nullopt;
    if (field.name == "b") return read_bool(field.text);
    if (field.name == "i") {
      if (auto value = parse_integer(field.text)) return *value;
    }
    if (field.name == "f") {
      if (auto value = parse_real(field.text)) return *value;
    }
    return std::nullopt;
  }

 private:
  static std::optional<Attribute> read_bool(std::string_view text) {
    if (text == "true" || text == "True" || text == "t" || text == "1") return true;
    if (text == "false" || text == "False" || text == "f" || text == "0") return false;
    return std::nullopt;
  }

  std::optional<Attribute> read_list(uint32_t list) const {
    std::vector<int64_t> integers;
    std::vector<std::string> strings;
    std::string_view type;
    bool known = true;
    tree_.for_each_child(list, [&](uint32_t index) {
      const Field& field = tree_[index];
      if (auto integer = integer_of(field); field.name == "i" && integer) {
        integers.push_back(*integer);
      } else if (field.name == "s" && field.kind == FieldKind::String) {
        strings.push_back(text_of(field));
      } else if (field.name == "val_type" && field.kind == FieldKind::Scalar) {
        type = field.text;
      } else {
        known = false;
      }
    });
    if (!known || (!integers.empty() && !strings.empty())) return std::nullopt;
    if (!strings.empty()) return strings;
    if (!integers.empty() || type == "VT_LIST_INT" || type.empty()) return integers;
    if (type == "VT_LIST_STRING") return strings;
    return std::nullopt;
  }

  const FieldTree& tree_;
};

/// A GE TensorDescriptor: the fields between `first` and `last`.
DumpTensor read_descriptor(const FieldTree& tree, uint32_t first, uint32_t last,
                           std::string default_name) {
  DumpTensor tensor;
  tensor.name = std::move(default_name);
  for (uint32_t i = first; i < last; i = tree[i].end) {
    const Field& field = tree[i];
    if (field.name == "name" && field.kind == FieldKind::String) {
      tensor.name = text_of(field);
    } else if (field.name == "dtype" && field.kind == FieldKind::Scalar) {
      tensor.dtype = text_of(field);
    } else if (field.name == "layout" && field.kind == FieldKind::String) {
      tensor.layout = text_of(field);
    } else if (field.name == "device_type" && field.kind == FieldKind::String) {
      tensor.device_type = text_of(field);
    } else if (field.name == "shape" && field.kind == FieldKind::Message) {
      tree.for_each_child(i, [&](uint32_t dim) {
        auto size = parse_integer(tree[dim].text);
        if (tree[dim].name == "dim" && size) tensor.shape.push_back(*size);
      });
    } else {
      tensor.unparsed += tree.print(i, field.end);
    }
  }
  return tensor;
}

class DumpReader {
 public:
  DumpReader(const FieldTree& tree, DumpKind kind) : tree_(tree) { dump_.kind = kind; }

  Dump read() {
    switch (dump_.kind) {
      case DumpKind::TorchAirPbtxt: read_torchair(); break;
      case DumpKind::GeText: read_ge_text(); break;
      case DumpKind::GeOnnx: read_onnx(); break;
      case DumpKind::Unknown: break;
    }
    report_problem();
    return std::move(dump_);
  }

 private:
  void read_torchair() {
    DumpGraph& graph = dump_.graphs.emplace_back();
    tree_.for_each_root([&](uint32_t index) {
      if (tree_[index].name == "node" && whole(index))
        graph.ops.push_back(read_tensorflow_node(index));
    });
  }

  void read_ge_text() {
    DumpGraph bare;
    bool has_bare = false;
    tree_.for_each_root([&](uint32_t index) {
      if (tree_[index].name == "graph" && tree_[index].kind == FieldKind::Message) {
        DumpGraph& graph = dump_.graphs.emplace_back();
        tree_.for_each_child(index, [&](uint32_t field) { read_ge_field(field, graph); });
      } else {
        has_bare |= tree_[index].name == "op";
        read_ge_field(index, bare);
      }
    });
    // Around `graph { … }` the other fields describe the model; beside bare operators, the graph.
    if (has_bare) dump_.graphs.push_back(std::move(bare));
  }

  void read_ge_field(uint32_t index, DumpGraph& graph) {
    const Field& field = tree_[index];
    if (field.name == "op" && field.kind == FieldKind::Message) {
      if (whole(index)) graph.ops.push_back(read_ge_op(index));
    } else if (field.name == "name" && field.kind == FieldKind::String) {
      graph.name = text_of(field);
    } else if (field.complete) {
      graph.unparsed += tree_.print(index, field.end);
    }
  }

  void read_onnx() {
    tree_.for_each_root([&](uint32_t index) {
      if (tree_[index].name != "graph" || tree_[index].kind != FieldKind::Message) return;
      DumpGraph& graph = dump_.graphs.emplace_back();
      tree_.for_each_child(index, [&](uint32_t i) {
        const Field& field = tree_[i];
        if (field.name == "node" && field.kind == FieldKind::Message) {
          if (whole(i)) graph.ops.push_back(read_onnx_node(i));
        } else if (field.name == "name" && field.kind == FieldKind::String) {
          graph.name = text_of(field);
        } else if (field.complete) {
          graph.unparsed += tree_.print(i, field.end);
        }
      });
    });
  }

  /// Half an operator would look like one with fewer inputs: it is left out, and the report says
  /// so.
  bool whole(uint32_t index) {
    const Field& field = tree_[index];
    if (field.kind != FieldKind::Message) return false;
    if (field.complete) return true;
    auto name = tree_.child(index, "name");
    cut_off_ = name ? text_of(tree_[*name]) : fmt::format("the operator at line {}", field.line);
    return false;
  }

  DumpOp read_tensorflow_node(uint32_t node) {
    DumpOp op;
    tree_.for_each_child(node, [&](uint32_t i) {
      const Field& field = tree_[i];
      if (field.name == "name") {
        op.name = text_of(field);
      } else if (field.name == "op") {
        op.type = text_of(field);
      } else if (field.name == "input") {
        op.inputs.push_back(split_tensorflow_input(field.text));
      } else if (field.name == "attr") {
        read_tensorflow_attribute(i, op);
      } else {
        keep_field(i, op);
      }
    });
    return op;
  }

  /// TorchAir puts the proto text of a GE message into `s`. What TensorFlow itself writes there
  /// (`type: DT_FLOAT`, `s: "SAME"`) is kept as it is.
  void read_tensorflow_attribute(uint32_t attribute, DumpOp& op) {
    auto key = tree_.child(attribute, "key");
    auto value = tree_.child(attribute, "value");
    if (!key || !value || tree_[*value].kind != FieldKind::Message) return;
    std::string name = text_of(tree_[*key]);
    auto text = tree_.child(*value, "s");
    bool wrapped =
        text && tree_[*text].kind == FieldKind::String && tree_[*text].end == tree_[*value].end;
    if (!wrapped) {
      op.unparsed[name] = tree_.print(*value + 1, tree_[*value].end);
      return;
    }
    FieldTree inner(tree_[*text].text);
    if (inner.problem()) {
      op.attributes[name] = text_of(tree_[*text]);
    } else if (name.rfind("[i]", 0) == 0) {
      op.input_descs.push_back(read_descriptor(inner, 0, inner.size(), name.substr(3)));
    } else if (name.rfind("[o]", 0) == 0) {
      op.output_descs.push_back(read_descriptor(inner, 0, inner.size(), name.substr(3)));
    } else {
      keep_attribute(name, inner, 0, inner.size(), op);
    }
  }

  static void keep_attribute(const std::string& name, const FieldTree& tree, uint32_t first,
                             uint32_t last, DumpOp& op) {
    if (auto value = AttributeReader(tree).read(first, last)) {
      op.attributes[name] = *std::move(value);
    } else {
      op.unparsed[name] = tree.print(first, last);
    }
  }

  DumpOp read_ge_op(uint32_t node) {
    DumpOp op;
    tree_.for_each_child(node, [&](uint32_t i) {
      const Field& field = tree_[i];
      bool message = field.kind == FieldKind::Message;
      if (field.name == "name" && !message) {
        op.name = text_of(field);
      } else if (field.name == "type" && !message) {
        op.type = text_of(field);
      } else if (field.name == "input" && !message) {
        op.inputs.push_back(split_input(field.text));
      } else if (field.name == "attr" && message) {
        read_ge_attribute(i, op);
      } else if (field.name == "input_desc" && message) {
        op.input_descs.push_back(read_descriptor(tree_, i + 1, field.end, {}));
      } else if (field.name == "output_desc" && message) {
        op.output_descs.push_back(read_descriptor(tree_, i + 1, field.end, {}));
      } else {
        keep_field(i, op);
      }
    });
    return op;
  }

  void read_ge_attribute(uint32_t attribute, DumpOp& op) {
    auto key = tree_.child(attribute, "key");
    auto value = tree_.child(attribute, "value");
    if (!key) return;
    std::string name = text_of(tree_[*key]);
    if (value && tree_[*value].kind == FieldKind::Message) {
      keep_attribute(name, tree_, *value + 1, tree_[*value].end, op);
    } else {
      op.unparsed[name] = value ? tree_.print(*value, tree_[*value].end) : "";
    }
  }

  /// `stream_id` decides where the operator runs, so it is an attribute; the rest is kept as text.
  void keep_field(uint32_t index, DumpOp& op) {
    const Field& field = tree_[index];
    auto stream = field.name == "stream_id" ? parse_integer(field.text) : std::nullopt;
    if (stream) {
      op.attributes["stream_id"] = *stream;
    } else {
      op.unparsed[std::string(kOperatorField) + std::string(field.name)] +=
          tree_.print(index, field.end);
    }
  }

  DumpOp read_onnx_node(uint32_t node) {
    DumpOp op;
    tree_.for_each_child(node, [&](uint32_t i) {
      const Field& field = tree_[i];
      if (field.name == "name") {
        op.name = text_of(field);
      } else if (field.name == "op_type") {
        op.type = text_of(field);
        if (op.type.rfind("ge:", 0) == 0) op.type.erase(0, 3);
      } else if (field.name == "input") {
        op.inputs.push_back(split_input(field.text));
      } else if (field.name == "attribute" && field.kind == FieldKind::Message) {
        read_onnx_attribute(i, op);
      } else if (field.name != "output") {  // output names follow from the inputs of the others
        keep_field(i, op);
      }
    });
    return op;
  }

  void read_onnx_attribute(uint32_t attribute, DumpOp& op) {
    auto name_field = tree_.child(attribute, "name");
    if (!name_field) return;
    std::string name = text_of(tree_[*name_field]);
    std::vector<int64_t> integers;
    std::vector<std::string> strings;
    std::string_view type;
    bool list = false, known = true;
    tree_.for_each_child(attribute, [&](uint32_t i) {
      const Field& field = tree_[i];
      if (auto integer = integer_of(field);
          (field.name == "i" || field.name == "ints") && integer) {
        integers.push_back(*integer);
        list |= field.name == "ints";
      } else if ((field.name == "s" || field.name == "strings") &&
                 field.kind == FieldKind::String) {
        strings.push_back(text_of(field));
        list |= field.name == "strings";
      } else if (field.name == "type") {
        type = field.text;
      } else {
        known &= i == *name_field;
      }
    });
    list |= type == "INTS" || type == "STRINGS";
    if (!known || (!integers.empty() && !strings.empty()) ||
        (!list && integers.size() + strings.size() != 1)) {
      op.unparsed[name] = tree_.print(attribute + 1, tree_[attribute].end);
    } else if (!strings.empty() || type == "STRINGS") {
      op.attributes[name] = list ? Attribute(strings) : Attribute(strings[0]);
    } else {
      op.attributes[name] = list ? Attribute(integers) : Attribute(integers[0]);
    }
  }

  void report_problem() {
    size_t count = 0;
    for (const DumpGraph& graph : dump_.graphs) count += graph.ops.size();
    if (tree_.problem()) {
      Diagnostic problem = *tree_.problem();
      problem.message += fmt::format("; {} operators were read", count);
      if (!cut_off_.empty())
        problem.message += fmt::format(", '{}' is cut off and left out", cut_off_);
      problem.fix = problem.rule == "truncated"
                        ? "write the dump again: this file is not whole"
                        : "only text dumps can be read; was the file edited by hand?";
      dump_.diagnostics.push_back(std::move(problem));
    }
  }

  const FieldTree& tree_;
  Dump dump_;
  std::string cut_off_;
};

/// By the outermost fields and the first fields inside a graph.
DumpKind kind_of(const FieldTree& tree) {
  DumpKind kind = DumpKind::Unknown;
  bool onnx = false, empty_graph = false;
  tree.for_each_root([&](uint32_t index) {
    const Field& field = tree[index];
    bool message = field.kind == FieldKind::Message;
    if (field.name == "ir_version") onnx = true;
    if (kind != DumpKind::Unknown || !message) return;
    if (field.name == "node") kind = DumpKind::TorchAirPbtxt;
    if (field.name == "op") kind = DumpKind::GeText;
    if (field.name != "graph") return;
    if (tree.child(index, "op")) {
      kind = DumpKind::GeText;
    } else if (tree.child(index, "node")) {
      kind = DumpKind::GeOnnx;
    } else {
      empty_graph = true;
    }
  });
  if (onnx) return DumpKind::GeOnnx;
  if (kind == DumpKind::Unknown && empty_graph) return DumpKind::GeText;
  return kind;
}

}  // namespace

DumpKind detect(std::string_view text) {
  constexpr size_t kEnough = 1 << 16;
  if (text.size() > kEnough) {
    DumpKind kind = kind_of(FieldTree(text.substr(0, kEnough)));
    if (kind != DumpKind::Unknown) return kind;
  }
  return kind_of(FieldTree(text));
}

Dump read_dump(std::string_view text) {
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);  // byte order mark
  FieldTree tree(text);
  Dump dump = DumpReader(tree, kind_of(tree)).read();
  if (dump.kind == DumpKind::Unknown) {
    bool blank = text.find_first_not_of(" \t\r\n") == std::string_view::npos;
    dump.diagnostics = {
        Diagnostic{Severity::Error,
                   blank ? "empty" : "not-a-dump",
                   blank ? "the file is empty" : "this is no graph dump of TorchAir or GE",
                   "a dump begins with `node {`, `op {`, `graph {` or `ir_version:`",
                   {}}};
  }
  return dump;
}

}  // namespace anabranch::formats
