#include "anabranch/schedule/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "anabranch/base/lexer.h"

namespace anabranch {
namespace {

// schedule {
//   stream 0 "" priority 0 inner_parallel true { launch ^add; record e0 }
//   stream 1 "1" priority 0 inner_parallel true { wait e0; launch ^mm threads 1 exclusive }
//   buffer b4 acquire ^add release ^mm ^add_1 at 0 size 4096
// }
class ScheduleParser {
 public:
  ScheduleParser(const Graph& graph, std::string_view text) : lexer_(text, "schedule text") {
    for (size_t i = 0; i < graph.nodes.size(); ++i) nodes_.emplace(graph.nodes[i].name, NodeId(i));
  }

  Schedule parse() {
    lexer_.expect_word("schedule");
    if (lexer_.accept_word("lanes")) {
      schedule_.lanes.each = static_cast<int>(parse_index());
      lexer_.expect_word("of");
      schedule_.lanes.cores = static_cast<int>(parse_index());
    }
    lexer_.expect("{");
    while (!lexer_.accept("}")) {
      if (lexer_.accept_word("stream")) {
        parse_stream();
      } else {
        lexer_.expect_word("buffer");
        parse_buffer();
      }
    }
    if (lexer_.peek().kind != TokenKind::End) lexer_.fail("text after the end of the schedule");
    return std::move(schedule_);
  }

 private:
  void parse_stream() {
    size_t index = parse_index();
    if (index != schedule_.streams.size()) lexer_.fail("streams are numbered 0, 1, 2 …");
    StreamProgram program;
    program.stream.label = lexer_.expect_kind(TokenKind::String, "the stream's label").text;
    if (lexer_.accept_word("priority")) {
      program.stream.priority = lexer_.expect_kind(TokenKind::Integer, "an integer").integer;
    }
    if (lexer_.accept_word("inner_parallel")) {
      program.stream.inner_parallel = lexer_.accept_word("true");
      if (!program.stream.inner_parallel && !lexer_.accept_word("false")) {
        lexer_.fail("inner_parallel is true or false");
      }
    }
    program.folded = lexer_.accept_word("folded");
    lexer_.expect("{");
    while (!lexer_.at("}")) {
      program.commands.push_back(parse_command());
      if (!lexer_.accept(";")) break;
    }
    lexer_.expect("}");
    schedule_.streams.push_back(std::move(program));
  }

  Command parse_command() {
    if (lexer_.accept_word("record")) return Record{parse_event()};
    if (lexer_.accept_word("wait")) return Wait{parse_event()};
    lexer_.expect_word("launch");
    Launch launch{parse_node()};
    if (lexer_.accept_word("threads")) launch.threads = static_cast<int>(parse_index());
    launch.exclusive = lexer_.accept_word("exclusive");
    launch.split = lexer_.accept_word("split");
    return launch;
  }

  void parse_buffer() {
    BufferLife life;
    life.buffer = BufferId(parse_numbered('b'));
    lexer_.expect_word("acquire");
    life.acquire = parse_node();
    lexer_.expect_word("release");
    while (lexer_.peek().kind == TokenKind::Node) life.releases.push_back(parse_node());
    if (lexer_.accept_word("at")) {
      Placement placement;
      placement.offset = static_cast<int64_t>(parse_index());
      lexer_.expect_word("size");
      placement.size = static_cast<int64_t>(parse_index());
      life.placement = placement;
    }
    schedule_.buffers.push_back(std::move(life));
  }

  EventId parse_event() {
    EventId event{parse_numbered('e')};
    // A schedule has at most one event per operator; more would only be allocated for nothing.
    if (event.index() > nodes_.size()) lexer_.fail("more events than operators");
    schedule_.event_count = std::max(schedule_.event_count, event.index() + 1);
    return event;
  }

  NodeId parse_node() {
    std::string name(lexer_.expect_kind(TokenKind::Node, "an operator such as ^add").text);
    auto found = nodes_.find(name);
    if (found == nodes_.end()) lexer_.fail("the graph has no operator " + name);
    return found->second;
  }

  size_t parse_index() {
    int64_t value = lexer_.expect_kind(TokenKind::Integer, "a number").integer;
    if (value < 0) lexer_.fail("the number must not be negative");
    return static_cast<size_t>(value);
  }

  size_t parse_numbered(char letter) {
    Token token = lexer_.expect_kind(TokenKind::Word, fmt::format("{}<number>", letter));
    uint32_t index = 0;
    const char* end = token.text.data() + token.text.size();
    auto result = std::from_chars(token.text.data() + 1, end, index);
    if (token.text[0] != letter || result.ec != std::errc() || result.ptr != end) {
      lexer_.fail(fmt::format("expected {}<number>, found {}", letter, token.text));
    }
    return index;
  }

  Lexer lexer_;
  Schedule schedule_;
  std::unordered_map<std::string, NodeId> nodes_;
};

class CommandPrinter {
 public:
  explicit CommandPrinter(const Graph& graph) : graph_(graph) {}
  std::string node(NodeId id) const {
    const std::string& name = graph_.node(id).name;
    return "^" + (is_plain_name(name) ? name : quote(name));
  }
  std::string operator()(const Launch& launch) const {
    std::string text = "launch " + node(launch.node);
    if (launch.threads > 0) text += fmt::format(" threads {}", launch.threads);
    if (launch.exclusive) text += " exclusive";
    if (launch.split) text += " split";
    return text;
  }
  std::string operator()(const Record& record) const {
    return fmt::format("record e{}", record.event.index());
  }
  std::string operator()(const Wait& wait) const {
    return fmt::format("wait e{}", wait.event.index());
  }

 private:
  const Graph& graph_;
};

}  // namespace

Schedule parse_schedule(const Graph& graph, std::string_view text) {
  return ScheduleParser(graph, text).parse();
}

std::string print_schedule(const Graph& graph, const Schedule& schedule) {
  CommandPrinter printer(graph);
  std::string text = "schedule {\n";
  if (schedule.lanes.cores > 0)
    text = fmt::format("schedule lanes {} of {} {{\n", schedule.lanes.each, schedule.lanes.cores);
  for (size_t i = 0; i < schedule.streams.size(); ++i) {
    const auto& [stream, commands, folded] = schedule.streams[i];
    text +=
        fmt::format("  stream {} {} priority {} inner_parallel {}{} {{\n", i, quote(stream.label),
                    stream.priority, stream.inner_parallel, folded ? " folded" : "");
    for (size_t k = 0; k < commands.size(); ++k) {
      text += fmt::format("    {}{}\n", std::visit(printer, commands[k]),
                          k + 1 < commands.size() ? ";" : "");
    }
    text += "  }\n";
  }
  for (const BufferLife& life : schedule.buffers) {
    text += fmt::format("  buffer b{} acquire {} release", life.buffer.index(),
                        printer.node(life.acquire));
    for (NodeId node : life.releases) text += " " + printer.node(node);
    if (life.placement)
      text += fmt::format(" at {} size {}", life.placement->offset, life.placement->size);
    text += "\n";
  }
  return text + "}\n";
}

}  // namespace anabranch
