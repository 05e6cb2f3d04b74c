#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "anabranch/base/lexer.h"
#include "anabranch/base/name_table.h"
#include "anabranch/ir/text.h"

namespace anabranch {
namespace {

class GraphParser {
 public:
  /// `lines` is about the number of statements, or 0.
  GraphParser(Lexer& lexer, size_t lines) : lexer_(lexer) {
    graph_.nodes.reserve(lines);
    graph_.values.reserve(lines);
  }

  Graph parse() {
    lexer_.expect_word("graph");
    graph_.name = lexer_.expect_kind(TokenKind::String, "the graph's name in quotes").text;
    lexer_.expect("{");
    while (!lexer_.accept_word("return")) {
      if (lexer_.at("}")) lexer_.fail("a graph ends with a return statement");
      if (lexer_.at_word("stream")) {
        parse_stream();
      } else {
        parse_statement();
      }
    }
    if (!lexer_.at("}")) {
      do {
        graph_.outputs.push_back(parse_argument());
      } while (lexer_.accept(","));
    }
    lexer_.expect("}");
    return std::move(graph_);
  }

 private:
  void parse_stream() {
    lexer_.next();
    int64_t index = lexer_.expect_kind(TokenKind::Integer, "a stream number").integer;
    if (index != static_cast<int64_t>(graph_.streams.size()))
      lexer_.fail("streams are numbered 1, 2, 3 …");
    Stream stream;
    stream.label = lexer_.expect_kind(TokenKind::String, "the stream's label in quotes").text;
    if (lexer_.accept_word("priority")) {
      stream.priority = lexer_.expect_kind(TokenKind::Integer, "an integer priority").integer;
    }
    if (lexer_.accept_word("inner_parallel")) stream.inner_parallel = parse_bool();
    graph_.streams.push_back(std::move(stream));
  }

  void parse_statement() {
    std::vector<std::string_view> result_names;
    if (lexer_.peek().kind == TokenKind::Value) {
      do {
        result_names.push_back(lexer_.expect_kind(TokenKind::Value, "a result such as %x").text);
      } while (lexer_.accept(","));
      lexer_.expect("=");
    }
    NodeId id{graph_.nodes.size()};
    Node node;
    std::string_view name = result_names.empty() ? "" : result_names.front();
    if (lexer_.peek().kind == TokenKind::Node) name = lexer_.next().text;
    node.name = name;
    parse_head(node);
    if (lexer_.accept("(")) parse_operands(node);
    std::vector<Type> types;
    parse_clauses(node, types);
    if (types.size() != result_names.size()) {
      lexer_.fail(fmt::format("{} results but {} types", result_names.size(), types.size()));
    }
    if (node.name.empty()) {
      node.name = fmt::format("{}_{}", node.op, id.index());
      name = made_names_.emplace_back(node.name);
    }
    if (!nodes_.insert(name, id.index())) lexer_.fail("two operators are named " + node.name);
    graph_.add_node(std::move(node));
    for (size_t i = 0; i < types.size(); ++i) {
      ValueId value = graph_.add_result(id, std::string(result_names[i]), std::move(types[i]));
      if (!values_.insert(result_names[i], value.index()))
        lexer_.fail(fmt::format("two results are named %{}", result_names[i]));
    }
  }

  void parse_head(Node& node) {
    if (lexer_.peek().kind == TokenKind::String) {
      node.op = lexer_.next().text;
      return;
    }
    node.op = lexer_.expect_kind(TokenKind::Word, "an operator's name").text;
    if (node.op == "input") node.kind = NodeKind::Input;
    if (node.op == "constant") node.kind = NodeKind::Constant;
    if (node.op == "size") node.kind = NodeKind::Size;
    if (node.op == "wait") node.kind = NodeKind::Wait;
    if (node.op == "wait_dependency") node.kind = NodeKind::WaitDependency;
    if (node.op == "view") {
      node.kind = NodeKind::View;
      bool quoted = lexer_.peek().kind == TokenKind::String;
      node.op =
          quoted ? lexer_.next().text : lexer_.expect_kind(TokenKind::Word, "the view's name").text;
    }
    if (lexer_.peek().kind == TokenKind::Integer) node.wait_number = lexer_.next().integer;
  }

  void parse_operands(Node& node) {
    while (!lexer_.at(")")) {
      Operand operand;
      if (lexer_.peek().kind == TokenKind::Word) {
        Token word = lexer_.next();
        if (lexer_.accept("=")) {
          operand.name = word.text;
          operand.value = parse_argument();
        } else {
          operand.value = parse_word(word.text);
        }
      } else {
        operand.value = parse_argument();
      }
      node.operands.push_back(std::move(operand));
      if (!lexer_.accept(",")) break;
    }
    lexer_.expect(")");
  }

  void parse_clauses(Node& node, std::vector<Type>& types) {
    for (;;) {
      if (lexer_.accept_word("writes")) {
        parse_sequence([&] { node.writes.push_back(parse_value()); });
      } else if (lexer_.accept_word("reads")) {
        parse_sequence([&] { node.reads.push_back(parse_value()); });
      } else if (lexer_.accept_word("effects")) {
        parse_sequence([&] { node.effects.push_back(parse_effect()); });
      } else if (lexer_.accept_word("after")) {
        parse_sequence([&] { node.control.push_back(parse_control()); });
      } else if (lexer_.accept_word("stream")) {
        node.stream = parse_stream_number();
      } else if (lexer_.at("{")) {
        parse_attributes(node.attributes);
      } else if (lexer_.accept_word("body")) {
        node.bodies.push_back(std::make_shared<Graph>(GraphParser(lexer_, 0).parse()));
      } else if (lexer_.accept(":")) {
        do {
          types.push_back(parse_type(lexer_));
        } while (lexer_.accept(","));
      } else if (lexer_.accept_word("at")) {
        parse_source(node.source);
      } else {
        return;
      }
    }
  }

  template <class Item>
  void parse_sequence(Item item) {
    lexer_.expect("(");
    while (!lexer_.at(")")) {
      item();
      if (!lexer_.accept(",")) break;
    }
    lexer_.expect(")");
  }

  StreamId parse_stream_number() {
    int64_t index = lexer_.expect_kind(TokenKind::Integer, "a stream number").integer;
    if (index < 0 || index >= static_cast<int64_t>(graph_.streams.size())) {
      lexer_.fail(fmt::format("stream {} is not declared", index));
    }
    return StreamId(static_cast<size_t>(index));
  }

  Effect parse_effect() {
    Effect effect;
    std::string_view kind = lexer_.expect_kind(TokenKind::Word, "random, collective or io").text;
    if (kind == "random") {
      effect.kind = EffectKind::Random;
    } else if (kind == "collective") {
      effect.kind = EffectKind::Collective;
    } else if (kind == "io") {
      effect.kind = EffectKind::Io;
    } else {
      lexer_.fail(fmt::format("an effect is random, collective or io, not {}", kind));
    }
    effect.resource = lexer_.expect_kind(TokenKind::String, "the resource in quotes").text;
    return effect;
  }

  ControlEdge parse_control() {
    ControlEdge edge;
    if (lexer_.accept_word("effect")) edge.reason = ControlReason::Effect;
    std::string_view name = lexer_.expect_kind(TokenKind::Node, "an operator such as ^add").text;
    std::optional<size_t> found = nodes_.find(name);
    if (!found) lexer_.fail(fmt::format("^{} is not an earlier operator of this graph", name));
    edge.from = NodeId(*found);
    return edge;
  }

  void parse_attributes(Attributes& attributes) {
    lexer_.expect("{");
    while (!lexer_.at("}")) {
      std::string_view key =
          lexer_.expect_kind(TokenKind::String, "an attribute's key in quotes").text;
      lexer_.expect(":");
      if (!attributes.emplace(key, parse_attribute()).second)
        lexer_.fail(fmt::format("attribute given twice: {}", key));
      if (!lexer_.accept(",")) break;
    }
    lexer_.expect("}");
  }

  Attribute parse_attribute() {
    if (lexer_.at("[")) return parse_attribute_list();
    Token token = lexer_.next();
    if (token.kind == TokenKind::String) return std::string(token.text);
    if (token.kind == TokenKind::Integer) return token.integer;
    if (token.kind == TokenKind::Real) return token.real;
    if (token.text == "true" || token.text == "false") return token.text == "true";
    lexer_.fail("an attribute is a string, a number, true, false or a list of strings or integers");
  }

  Attribute parse_attribute_list() {
    std::vector<int64_t> integers;
    std::vector<std::string> strings;
    lexer_.expect("[");
    while (!lexer_.at("]")) {
      if (lexer_.peek().kind == TokenKind::String) {
        strings.emplace_back(lexer_.next().text);
      } else {
        integers.push_back(
            lexer_.expect_kind(TokenKind::Integer, "a string or an integer").integer);
      }
      if (!lexer_.accept(",")) break;
    }
    lexer_.expect("]");
    if (!strings.empty() && !integers.empty())
      lexer_.fail("an attribute list has one kind of item");
    if (!strings.empty()) return strings;
    return integers;
  }

  void parse_source(SourceLocation& source) {
    source.file = lexer_.expect_kind(TokenKind::String, "a file name in quotes").text;
    source.line = static_cast<int>(lexer_.expect_kind(TokenKind::Integer, "a line number").integer);
    if (lexer_.accept_word("in")) {
      source.function = lexer_.expect_kind(TokenKind::String, "a function's name in quotes").text;
    }
  }

  bool parse_bool() {
    std::string_view word = lexer_.expect_kind(TokenKind::Word, "true or false").text;
    if (word != "true" && word != "false")
      lexer_.fail(fmt::format("expected true or false, found {}", word));
    return word == "true";
  }

  ValueId parse_value() {
    std::string_view name = lexer_.expect_kind(TokenKind::Value, "a value such as %x").text;
    std::optional<size_t> found = values_.find(name);
    if (!found) lexer_.fail(fmt::format("%{} is not defined before this use", name));
    return ValueId(*found);
  }

  Argument parse_argument() {
    switch (lexer_.peek().kind) {
      case TokenKind::Value: return Argument(parse_value());
      case TokenKind::Integer: return Argument(lexer_.next().integer);
      case TokenKind::Real: return Argument(lexer_.next().real);
      case TokenKind::String: return Argument(std::string(lexer_.next().text));
      case TokenKind::Word: return parse_word(lexer_.next().text);
      default: break;
    }
    if (lexer_.accept("{")) {
      Expr expr = parse_expr(lexer_);
      lexer_.expect("}");
      return Argument(std::move(expr));
    }
    ArgumentList items;
    lexer_.expect("[");
    while (!lexer_.at("]")) {
      items.push_back(parse_argument());
      if (!lexer_.accept(",")) break;
    }
    lexer_.expect("]");
    return Argument(std::move(items));
  }

  double parse_real() {
    Token token = lexer_.next();
    if (token.kind == TokenKind::Integer) return static_cast<double>(token.integer);
    if (token.kind != TokenKind::Real) lexer_.fail("expected a number");
    return token.real;
  }

  Argument parse_word(std::string_view word) {
    if (word == "none") return Argument(None{});
    if (word == "true" || word == "false") return Argument(word == "true");
    lexer_.expect("(");
    Argument argument;
    if (word == "dtype") {
      argument = Argument(parse_dtype(lexer_.expect_kind(TokenKind::Word, "a dtype").text));
    } else if (word == "complex") {
      double real = parse_real();
      lexer_.expect(",");
      argument = Argument(std::complex<double>(real, parse_real()));
    } else {
      std::string_view name = lexer_.expect_kind(TokenKind::String, "a name in quotes").text;
      argument = Argument(Keyword{std::string(word), std::string(name)});
    }
    lexer_.expect(")");
    return argument;
  }

  Lexer& lexer_;
  Graph graph_;
  NameTable nodes_, values_;            // names are windows on the text
  std::deque<std::string> made_names_;  // or these, of operators without a name
};

}  // namespace

Graph parse_graph(std::string_view text) {
  Lexer lexer(text, "graph text");
  lexer.expect_word("anabranch");
  if (lexer.expect_kind(TokenKind::Integer, "the format's version").integer != 1) {
    lexer.fail("only version 1 of the graph text is known");
  }
  auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  Graph graph = GraphParser(lexer, lines).parse();
  if (lexer.peek().kind != TokenKind::End) lexer.fail("text after the end of the graph");
  return graph;
}

}  // namespace anabranch
