#include <fmt/format.h>

#include "anabranch/base/lexer.h"
#include "anabranch/ir/text.h"

namespace anabranch {
namespace {

std::string print_name(char sigil, const std::string& name) {
  return fmt::format("{}{}", sigil, is_plain_name(name) ? name : quote(name));
}

template <class Items, class Print>
std::string join(const Items& items, std::string_view separator, Print print) {
  std::string text;
  bool first = true;
  for (const auto& item : items) {
    if (!first) text += separator;
    first = false;
    text += print(item);
  }
  return text;
}

class GraphPrinter {
 public:
  explicit GraphPrinter(const Graph& graph) : graph_(graph) {}

  std::string print(int depth) const {
    std::string indent(static_cast<size_t>(depth) * 2, ' ');
    std::string text = fmt::format("graph {} {{\n", quote(graph_.name));
    for (size_t i = 1; i < graph_.streams.size(); ++i) {
      const Stream& stream = graph_.streams[i];
      text += fmt::format("{}  stream {} {} priority {} inner_parallel {}\n", indent, i,
                          quote(stream.label), stream.priority, stream.inner_parallel);
    }
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      text += fmt::format("{}  {}\n", indent, statement(NodeId(i), depth + 1));
    }
    text += fmt::format("{}  return {}\n{}}}", indent,
                        join(graph_.outputs, ", ", [&](const Argument& a) { return argument(a); }),
                        indent);
    return text;
  }

  std::string statement(NodeId id, int depth) const {
    const Node& node = graph_.node(id);
    std::string text = results(node);
    text += head(node);
    if (node.kind != NodeKind::Input && node.kind != NodeKind::Constant &&
        node.kind != NodeKind::Size) {
      text += fmt::format("({})",
                          join(node.operands, ", ", [&](const Operand& o) { return operand(o); }));
    }
    text += clauses(node, depth);
    return text;
  }

 private:
  std::string results(const Node& node) const {
    std::string text;
    if (!node.results.empty()) {
      text = join(node.results, ", ", [&](ValueId v) { return value(v); }) + " = ";
    }
    return text;
  }

  std::string head(const Node& node) const {
    // A node is named after its first result; another name is written out.
    std::string name;
    if (node.results.empty() || graph_.value(node.results[0]).name != node.name) {
      name = print_name('^', node.name) + " ";
    }
    switch (node.kind) {
      case NodeKind::Input: return name + "input";
      case NodeKind::Constant: return name + "constant";
      case NodeKind::Size: return name + "size";
      case NodeKind::View: return name + "view " + operator_name(node.op);
      case NodeKind::Wait: return name + "wait" + wait_number(node);
      case NodeKind::WaitDependency: return name + "wait_dependency" + wait_number(node);
      case NodeKind::Operator: break;
    }
    // Words that the parser takes for other kinds are quoted.
    bool reserved = node.op == "input" || node.op == "constant" || node.op == "size" ||
                    node.op == "view" || node.op == "wait" || node.op == "wait_dependency";
    return name + (reserved ? quote(node.op) : operator_name(node.op));
  }

  static std::string wait_number(const Node& node) {
    return node.wait_number < 0 ? "" : fmt::format(" {} ", node.wait_number);
  }

  static std::string operator_name(const std::string& op) { return is_word(op) ? op : quote(op); }

  std::string clauses(const Node& node, int depth) const {
    std::string text;
    if (!node.writes.empty()) {
      text +=
          fmt::format(" writes({})", join(node.writes, ", ", [&](ValueId v) { return value(v); }));
    }
    if (!node.reads.empty()) {
      text +=
          fmt::format(" reads({})", join(node.reads, ", ", [&](ValueId v) { return value(v); }));
    }
    if (!node.effects.empty()) {
      text += fmt::format(" effects({})", join(node.effects, ", ", [](const Effect& e) {
                            return fmt::format("{} {}", to_string(e.kind), quote(e.resource));
                          }));
    }
    if (!node.control.empty()) {
      text += fmt::format(" after({})", join(node.control, ", ", [&](const ControlEdge& e) {
                            std::string name = print_name('^', graph_.node(e.from).name);
                            return e.reason == ControlReason::User ? name : "effect " + name;
                          }));
    }
    if (node.stream != kDefaultStream) text += fmt::format(" stream {}", node.stream.index());
    if (!node.attributes.empty()) {
      text +=
          fmt::format(" {{{}}}", join(node.attributes, ", ", [](const auto& entry) {
                        return fmt::format("{}: {}", quote(entry.first), to_string(entry.second));
                      }));
    }
    for (const auto& body : node.bodies) text += " body " + GraphPrinter(*body).print(depth);
    if (!node.results.empty()) {
      text += " : " +
              join(node.results, ", ", [&](ValueId v) { return to_string(graph_.value(v).type); });
    }
    if (node.source.known()) {
      text += fmt::format(" at {} {}", quote(node.source.file), node.source.line);
      if (!node.source.function.empty()) text += " in " + quote(node.source.function);
    }
    return text;
  }

  std::string value(ValueId id) const { return print_name('%', graph_.value(id).name); }

  std::string operand(const Operand& operand) const {
    std::string text = argument(operand.value);
    return operand.name.empty() ? text : operand.name + "=" + text;
  }

  std::string argument(const Argument& argument) const {
    struct Visitor {
      const GraphPrinter& printer;
      std::string operator()(None) const { return "none"; }
      std::string operator()(ValueId id) const { return printer.value(id); }
      std::string operator()(bool v) const { return v ? "true" : "false"; }
      std::string operator()(int64_t v) const { return std::to_string(v); }
      std::string operator()(double v) const { return print_real(v); }
      std::string operator()(const std::complex<double>& v) const {
        return fmt::format("complex({}, {})", print_real(v.real()), print_real(v.imag()));
      }
      std::string operator()(const std::string& v) const { return quote(v); }
      std::string operator()(DType v) const { return fmt::format("dtype({})", to_string(v)); }
      std::string operator()(const Keyword& v) const {
        return fmt::format("{}({})", v.kind, quote(v.name));
      }
      std::string operator()(const Expr& v) const { return fmt::format("{{{}}}", to_string(v)); }
      std::string operator()(const ArgumentList& items) const {
        return fmt::format(
            "[{}]", join(items, ", ", [&](const Argument& a) { return printer.argument(a); }));
      }
    };
    return std::visit(Visitor{*this}, argument.value);
  }

  const Graph& graph_;
};

}  // namespace

std::string print_graph(const Graph& graph) {
  return "anabranch 1\n" + GraphPrinter(graph).print(0) + "\n";
}

std::string print_node(const Graph& graph, NodeId id) {
  return GraphPrinter(graph).statement(id, 0);
}

}  // namespace anabranch
