// A file as the commands see it: a dump, or graph text with or without a schedule.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "anabranch/formats/dump.h"
#include "anabranch/ir/graph.h"
#include "anabranch/schedule/schedule.h"

namespace anabranch::tools {

struct Document {
  std::string path;
  std::string kind;  // "TorchAir pbtxt", "GE text", "GE ONNX-like text", "graph text"
  std::vector<formats::DumpGraph> graphs;  // graph text: the graph as a dump
  std::optional<Graph> graph;              // of graph text
  std::optional<Schedule> schedule;        // when one follows the graph
  std::vector<Diagnostic> diagnostics;     // what reading a dump found
};

/// "-" is the standard input. Throws Error ("file", "empty", "not-a-dump", "syntax").
std::string read_file(const std::string& path);
/// "-" is the standard output. Throws Error ("file").
void write_file(const std::string& path, std::string_view text);

/// A damaged dump gives its graphs and diagnostics; a file without any operator throws.
Document load(const std::string& path);

/// The graph of that number, from 0; without a number, the only graph. Throws Error
/// ("which-graph").
size_t choose_graph(const Document& document, const std::optional<size_t>& number);

/// The graph itself for graph text, else made from the dump. Throws what from_dump throws.
Graph graph_of(const Document& document, size_t number);

/// Each finding as text on the standard error.
void print_diagnostics(const std::vector<Diagnostic>& diagnostics);

}  // namespace anabranch::tools
