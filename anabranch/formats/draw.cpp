#include "anabranch/formats/draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

namespace anabranch::formats {
namespace {

/// Outline and lines; a light tint of the same hue fills the boxes.
struct Color {
  std::string_view line, fill, group;
};

constexpr Color kDefaultColor{"#4a5568", "#e2e8f0", "#f7fafc"};
constexpr Color kDataColor{"#a0aec0", "#ffffff", "#ffffff"};
constexpr std::array kColors{
    Color{"#2b6cb0", "#bee3f8", "#ebf8ff"}, Color{"#c05621", "#fbd38d", "#fffaf0"},
    Color{"#2f855a", "#c6f6d5", "#f0fff4"}, Color{"#6b46c1", "#d6bcfa", "#faf5ff"},
    Color{"#b83280", "#fbb6ce", "#fff5f7"}, Color{"#2c7a7b", "#b2f5ea", "#e6fffa"},
    Color{"#975a16", "#faf089", "#fffff0"}, Color{"#c53030", "#feb2b2", "#fff5f5"},
};

constexpr size_t kMaxLegendStreams = 24;

std::string escape_html(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\n': out += ' '; break;
      default:
        // Graphviz refuses control characters and stray UTF-8 alike; names may hold both.
        if (static_cast<unsigned char>(c) >= 0x20) out += c;
    }
  }
  return out;
}

/// The end of a long name tells more than its beginning.
std::string shorten(const std::string& name) {
  constexpr size_t kLongest = 42;
  if (name.size() <= kLongest) return name;
  size_t begin = name.size() - kLongest;
  while (begin < name.size() && (static_cast<unsigned char>(name[begin]) & 0xc0) == 0x80) ++begin;
  return "…" + name.substr(begin);
}

std::string short_dtype(std::string_view dtype) {
  if (dtype.rfind("DT_", 0) == 0) dtype.remove_prefix(3);
  std::string out;
  for (char c : dtype) out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string shape_text(const DumpTensor& tensor) {
  std::string text = short_dtype(tensor.dtype) + " [";
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += tensor.shape[i] >= 0    ? std::to_string(tensor.shape[i])
            : tensor.shape[i] == -2 ? "…"
                                    : "?";
  }
  return text + "]";
}

class Drawing {
 public:
  explicit Drawing(const DumpGraph& graph) : graph_(graph) {
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      index_.emplace(graph.ops[i].name, i);
      if (on_stream(graph.ops[i])) stream_of(stream_label(graph.ops[i]));
    }
  }

  std::string draw() {
    text_ =
        "digraph anabranch {\n"
        "  graph [rankdir=TB, ranksep=0.45, nodesep=0.35, fontname=\"Helvetica\", fontsize=12, "
        "compound=true];\n"
        "  node [shape=box, style=\"filled,rounded\", fontname=\"Helvetica\", fontsize=11, "
        "margin=\"0.12,0.06\"];\n"
        "  edge [fontname=\"Helvetica\", fontsize=9, arrowsize=0.7];\n";
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      if (!on_stream(graph_.ops[i])) text_ += "  " + node(i, kDataColor);
    }
    for (size_t stream = 0; stream < labels_.size(); ++stream) draw_group(stream);
    for (size_t i = 0; i < graph_.ops.size(); ++i) draw_edges(i);
    draw_legend();
    return std::move(text_) + "}\n";
  }

 private:
  static bool on_stream(const DumpOp& op) {
    return !is_data_type(op.type) && op.type != "NetOutput";
  }

  size_t stream_of(const std::string& label) {
    auto [found, fresh] = stream_index_.emplace(label, labels_.size());
    if (fresh) labels_.push_back(label);
    return found->second;
  }

  const Color& color(const std::string& label) {
    if (label.empty()) return kDefaultColor;
    size_t number = stream_of(label);
    auto fallback = stream_index_.find("");
    if (fallback != stream_index_.end() && fallback->second < number) --number;
    return kColors[number % kColors.size()];
  }

  std::string stream_title(size_t stream) const {
    return labels_[stream].empty() ? "default stream"
                                   : fmt::format("stream \"{}\"", labels_[stream]);
  }

  /// The type is said once: "MatMul_1" needs no second line "MatMul".
  static bool names_type(const DumpOp& op) {
    if (!std::string_view(op.name).starts_with(op.type)) return false;
    std::string_view rest = std::string_view(op.name).substr(op.type.size());
    return rest.empty() || (rest[0] == '_' && rest.size() > 1 &&
                            rest.find_first_not_of("0123456789", 1) == std::string_view::npos);
  }

  static std::string row(const std::string& text) {
    return fmt::format("<tr><td>{}</td></tr>", text);
  }

  std::string node(size_t index, const Color& color) const {
    const DumpOp& op = graph_.ops[index];
    std::string rows = row(fmt::format("<b>{}</b>", escape_html(shorten(op.name))));
    if (!names_type(op) && op.type != "Data" && !op.type.empty()) rows += row(escape_html(op.type));
    if (!op.output_descs.empty()) {
      std::string shape = shape_text(op.output_descs[0]);
      if (op.output_descs.size() > 1)
        shape += fmt::format(" + {} more", op.output_descs.size() - 1);
      rows += row(fmt::format("<font point-size=\"9\">{}</font>", escape_html(shape)));
    }
    return fmt::format(
        "n{} [label=<<table border=\"0\" cellborder=\"0\" cellspacing=\"0\" "
        "cellpadding=\"1\">{}</table>>, "
        "color=\"{}\", fillcolor=\"{}\"{}];\n",
        index, rows, color.line, color.fill,
        is_data_type(op.type) ? ", shape=ellipse, style=filled" : "");
  }

  void draw_group(size_t stream) {
    const Color& paint = color(labels_[stream]);
    text_ += fmt::format(
        "  subgraph cluster_{} {{\n    label=<<b>{}</b>>; color=\"{}\"; fontcolor=\"{}\"; "
        "style=\"rounded,filled\"; fillcolor=\"{}\";\n",
        stream, escape_html(stream_title(stream)), paint.line, paint.line, paint.group);
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const DumpOp& op = graph_.ops[i];
      if (on_stream(op) && stream_of(stream_label(op)) == stream) text_ += "    " + node(i, paint);
    }
    text_ += "  }\n";
  }

  void draw_edges(size_t index) {
    const DumpOp& op = graph_.ops[index];
    for (const DumpInput& input : op.inputs) {
      auto found = index_.find(input.producer);
      if (found == index_.end()) continue;  // absent input, or a part of a graph
      const DumpOp& producer = graph_.ops[found->second];
      std::string style;
      if (!input.control()) {
        std::string_view line =
            on_stream(producer) ? color(stream_label(producer)).line : kDataColor.line;
        style = fmt::format("color=\"{}\"", line);
        if (producer.output_descs.size() > 1) style += fmt::format(", label=\":{}\"", input.index);
      } else if (op.type == "Identity") {
        style = fmt::format(
            "style=dashed, penwidth=1.8, color=\"{}\", fontcolor=\"{}\", label=\"wait\"",
            color(stream_label(op)).line, color(stream_label(op)).line);
      } else {
        style = "style=dotted, penwidth=1.4, color=\"#718096\", constraint=true";
      }
      text_ += fmt::format("  n{} -> n{} [{}];\n", found->second, index, style);
    }
  }

  void draw_legend() {
    text_ +=
        "  subgraph cluster_legend {\n    label=\"\"; color=\"#cbd5e0\"; style=rounded;\n"
        "    legend [shape=plain, style=\"\", label=<<table border=\"0\" cellborder=\"0\" "
        "cellspacing=\"4\">\n";
    std::map<std::string, size_t> counts;
    for (const DumpOp& op : graph_.ops) {
      if (on_stream(op)) ++counts[stream_label(op)];
    }
    for (size_t i = 0; i < std::min(labels_.size(), kMaxLegendStreams); ++i) {
      size_t count = counts[labels_[i]];
      text_ += fmt::format(
          "      <tr><td bgcolor=\"{}\" width=\"18\"></td><td align=\"left\">{}: {} "
          "operator{}</td></tr>\n",
          color(labels_[i]).line, escape_html(stream_title(i)), count, count == 1 ? "" : "s");
    }
    if (labels_.size() > kMaxLegendStreams) {
      text_ += fmt::format("      <tr><td></td><td align=\"left\">and {} more</td></tr>\n",
                           labels_.size() - kMaxLegendStreams);
    }
    text_ +=
        "      <tr><td>──</td><td align=\"left\">data</td></tr>\n"
        "      <tr><td>╌╌</td><td align=\"left\">wait asked for by the program</td></tr>\n"
        "      <tr><td>┈┈</td><td align=\"left\">order of effects</td></tr>\n"
        "    </table>>];\n  }\n";
  }

  const DumpGraph& graph_;
  std::unordered_map<std::string, size_t> index_;
  std::unordered_map<std::string, size_t> stream_index_;
  std::vector<std::string> labels_;  // in order of first appearance
  std::string text_;
};

}  // namespace

std::string draw_dot(const DumpGraph& graph) { return Drawing(graph).draw(); }

}  // namespace anabranch::formats
