// `anabranch inspect`: which operator on which stream, which waits.
#include <fmt/format.h>

#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "tools/commands.h"
#include "tools/document.h"

namespace anabranch::tools {
namespace {

using formats::DumpGraph;
using formats::DumpOp;

constexpr size_t kMaxWaits = 40;  // shown as text; --json has all

struct Edge {
  std::string from, from_stream, to, to_stream;
  bool wait = false;  // asked for by the program; else an order of effects
};

struct StreamCount {
  std::string label;
  size_t operators = 0;
  std::map<std::string, size_t> types;
};

struct Facts {
  std::vector<StreamCount> streams;
  std::vector<Edge> control;
  size_t data_operators = 0, outputs = 0, data_edges = 0, crossing = 0, absent = 0;
};

std::string stream_name(const std::string& label) {
  return label.empty() ? "default stream" : fmt::format("stream \"{}\"", label);
}

Facts facts_of(const DumpGraph& graph) {
  Facts facts;
  std::unordered_map<std::string, const DumpOp*> by_name;
  std::unordered_map<std::string, size_t> by_label;
  for (const DumpOp& op : graph.ops) by_name.emplace(op.name, &op);
  for (const DumpOp& op : graph.ops) {
    bool output = op.type == "NetOutput", data = formats::is_data_type(op.type);
    facts.outputs += output;
    facts.data_operators += data;
    std::string label = formats::stream_label(op);
    if (!output && !data) {
      auto [found, fresh] = by_label.emplace(label, facts.streams.size());
      if (fresh) facts.streams.push_back({label, 0, {}});
      ++facts.streams[found->second].operators;
      ++facts.streams[found->second].types[op.type];
    }
    for (const formats::DumpInput& input : op.inputs) {
      auto producer = by_name.find(input.producer);
      if (producer == by_name.end()) {
        facts.absent += !input.producer.empty();
        continue;
      }
      std::string from_label = formats::stream_label(*producer->second);
      if (input.control()) {
        facts.control.push_back(
            {input.producer, from_label, op.name, label, op.type == "Identity"});
      } else {
        ++facts.data_edges;
        bool launched = !output && !formats::is_data_type(producer->second->type);
        facts.crossing += launched && from_label != label;
      }
    }
  }
  return facts;
}

nlohmann::ordered_json json_of(const DumpGraph& graph) {
  Facts facts = facts_of(graph);
  nlohmann::ordered_json json;
  json["name"] = graph.name;
  json["operators"] = graph.ops.size();
  json["data_operators"] = facts.data_operators;
  json["outputs"] = facts.outputs;
  json["data_edges"] = facts.data_edges;
  json["data_edges_between_streams"] = facts.crossing;
  json["missing_producers"] = facts.absent;
  json["streams"] = nlohmann::ordered_json::array();
  for (const StreamCount& stream : facts.streams) {
    json["streams"].push_back(
        {{"label", stream.label}, {"operators", stream.operators}, {"types", stream.types}});
  }
  for (const char* key : {"waits", "effect_order"}) json[key] = nlohmann::ordered_json::array();
  for (const Edge& edge : facts.control) {
    json[edge.wait ? "waits" : "effect_order"].push_back({{"from", edge.from},
                                                          {"from_stream", edge.from_stream},
                                                          {"to", edge.to},
                                                          {"to_stream", edge.to_stream}});
  }
  return json;
}

void print_edges(const Facts& facts, bool waits, std::string_view title) {
  size_t count = 0;
  for (const Edge& edge : facts.control) count += edge.wait == waits;
  if (count == 0) return;
  std::cout << fmt::format("  {}: {}\n", title, count);
  size_t shown = 0;
  for (const Edge& edge : facts.control) {
    if (edge.wait != waits) continue;
    if (++shown > kMaxWaits) {
      std::cout << fmt::format("    … and {} more (--json has all)\n", count - kMaxWaits);
      return;
    }
    std::cout << fmt::format("    {} ({}) waits for {} ({})\n", edge.to,
                             stream_name(edge.to_stream), edge.from, stream_name(edge.from_stream));
  }
}

void print_text(const DumpGraph& graph) {
  Facts facts = facts_of(graph);
  std::cout << fmt::format(
      "graph \"{}\": {} operators ({} data, {} outputs), {} data edges, {} of them between "
      "streams\n",
      graph.name, graph.ops.size(), facts.data_operators, facts.outputs, facts.data_edges,
      facts.crossing);
  if (facts.absent > 0)
    std::cout << fmt::format("  {} inputs come from outside this file\n", facts.absent);
  for (const StreamCount& stream : facts.streams) {
    std::string types;
    for (const auto& [type, count] : stream.types) {
      types += fmt::format("{}{} {}", types.empty() ? "" : ", ", count, type);
    }
    if (types.size() > 100) types = types.substr(0, types.rfind(',', 100)) + ", …";
    std::cout << fmt::format("  {}: {} operators ({})\n", stream_name(stream.label),
                             stream.operators, types);
  }
  print_edges(facts, true, "waits");
  print_edges(facts, false, "order of effects");
}

struct Commands {
  size_t launches = 0, records = 0, waits = 0;
};

Commands count_commands(const StreamProgram& program) {
  Commands count;
  for (const Command& command : program.commands) {
    count.launches += std::holds_alternative<Launch>(command);
    count.records += std::holds_alternative<Record>(command);
    count.waits += std::holds_alternative<Wait>(command);
  }
  return count;
}

void print_schedule_text(const Schedule& schedule) {
  std::cout << fmt::format("schedule: {} streams, {} events, {} buffers\n", schedule.streams.size(),
                           schedule.event_count, schedule.buffers.size());
  for (const StreamProgram& program : schedule.streams) {
    Commands count = count_commands(program);
    std::cout << fmt::format("  {}: {} launches, {} records, {} waits\n",
                             stream_name(program.stream.label), count.launches, count.records,
                             count.waits);
  }
}

nlohmann::ordered_json schedule_json(const Schedule& schedule) {
  nlohmann::ordered_json json{{"events", schedule.event_count},
                              {"buffers", schedule.buffers.size()}};
  json["streams"] = nlohmann::ordered_json::array();
  for (const StreamProgram& program : schedule.streams) {
    Commands count = count_commands(program);
    json["streams"].push_back({{"label", program.stream.label},
                               {"priority", program.stream.priority},
                               {"launches", count.launches},
                               {"records", count.records},
                               {"waits", count.waits}});
  }
  return json;
}

}  // namespace

void inspect(const std::string& file, bool as_json) {
  Document document = load(file);
  if (!as_json) {
    print_diagnostics(document.diagnostics);
    std::cout << fmt::format("{}: {}\n", document.path, document.kind);
    for (const DumpGraph& graph : document.graphs) print_text(graph);
    if (document.schedule) print_schedule_text(*document.schedule);
    return;
  }
  nlohmann::ordered_json json{{"file", document.path}, {"kind", document.kind}};
  json["diagnostics"] = nlohmann::ordered_json::array();
  for (const Diagnostic& finding : document.diagnostics)
    json["diagnostics"].push_back(to_string(finding));
  json["graphs"] = nlohmann::ordered_json::array();
  for (const DumpGraph& graph : document.graphs) json["graphs"].push_back(json_of(graph));
  if (document.schedule) json["schedule"] = schedule_json(*document.schedule);
  // Names in dumps need not be UTF-8.
  std::cout << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

}  // namespace anabranch::tools
