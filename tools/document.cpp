#include "tools/document.h"

#include <fmt/format.h>

#include <sys/stat.h>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

#include "anabranch/formats/formats.h"
#include "anabranch/ir/text.h"
#include "anabranch/schedule/text.h"

namespace anabranch::tools {
namespace {

std::string kind_name(formats::DumpKind kind) {
  switch (kind) {
    case formats::DumpKind::TorchAirPbtxt: return "TorchAir pbtxt";
    case formats::DumpKind::GeText: return "GE text";
    case formats::DumpKind::GeOnnx: return "GE ONNX-like text";
    case formats::DumpKind::Unknown: break;
  }
  return "unknown";
}

bool is_graph_text(std::string_view text) {
  for (;;) {
    size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) return false;
    text.remove_prefix(begin);
    if (text[0] != '#') break;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
  return text.starts_with("anabranch ");
}

void load_graph_text(const std::string& text, Document& document) {
  document.kind = "graph text";
  // Strings of the graph text never span lines, so a line that begins so is the schedule.
  size_t split = text.find("\nschedule {");
  std::string graph_part = text.substr(0, split);
  document.graph = parse_graph(graph_part);
  document.graphs.push_back(formats::to_dump(*document.graph));
  if (split == std::string::npos) return;
  // Empty lines in front keep the line numbers of messages right.
  auto lines = static_cast<size_t>(std::count(graph_part.begin(), graph_part.end(), '\n'));
  document.schedule =
      parse_schedule(*document.graph, std::string(lines, '\n') + text.substr(split));
}

}  // namespace

std::string read_file(const std::string& path) {
  std::stringstream text;
  if (path == "-") {
    text << std::cin.rdbuf();
    return text.str();
  }
  struct stat status;
  if (stat(path.c_str(), &status) != 0) {
    throw Error("file", fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  }
  if (S_ISDIR(status.st_mode))
    throw Error("file", fmt::format("{} is a folder", path), "name a file in it");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("file", fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  text << file.rdbuf();
  return text.str();
}

void write_file(const std::string& path, std::string_view text) {
  if (path == "-") {
    std::cout << text << std::flush;
    return;
  }
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text << std::flush;
  if (!file) throw Error("file", fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

Document load(const std::string& path) {
  Document document;
  document.path = path;
  std::string text = read_file(path);
  if (is_graph_text(text)) {
    load_graph_text(text, document);
    return document;
  }
  formats::Dump dump = formats::read_dump(text);
  document.kind = kind_name(dump.kind);
  document.graphs = std::move(dump.graphs);
  document.diagnostics = std::move(dump.diagnostics);
  for (Diagnostic& finding : document.diagnostics) finding.message = path + ": " + finding.message;
  bool any = false;
  for (const formats::DumpGraph& graph : document.graphs) any |= !graph.ops.empty();
  if (!any && !document.diagnostics.empty()) throw Error(document.diagnostics);
  return document;
}

size_t choose_graph(const Document& document, const std::optional<size_t>& number) {
  size_t count = document.graphs.size();
  if (number) {
    if (*number < count) return *number;
    throw Error("which-graph",
                fmt::format("{} holds {} graphs, numbered from 0", document.path, count));
  }
  if (count == 1) return 0;
  std::string names;
  for (size_t i = 0; i < std::min<size_t>(count, 20); ++i) {
    names += fmt::format("\n    {} {} ({} operators)", i, document.graphs[i].name,
                         document.graphs[i].ops.size());
  }
  throw Error("which-graph", fmt::format("{} holds {} graphs:{}", document.path, count, names),
              "choose one with --graph NUMBER");
}

Graph graph_of(const Document& document, size_t number) {
  return document.graph ? *document.graph : formats::from_dump(document.graphs[number]);
}

void print_diagnostics(const std::vector<Diagnostic>& diagnostics) {
  for (const Diagnostic& finding : diagnostics) std::cerr << to_string(finding) << "\n";
}

}  // namespace anabranch::tools
