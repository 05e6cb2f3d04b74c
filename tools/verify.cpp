// `anabranch verify`: is every order that the program needs kept?
//
// A file with a schedule: that schedule is checked. A dump that says on which stream each operator
// runs (an optimised dump): its data and control edges alone must order every two conflicting
// operators. Anything else is compiled as it would be before a run, and the result is checked.
#include <fmt/format.h>

#include <iostream>

#include "anabranch/passes/passes.h"
#include "anabranch/passes/pipeline.h"
#include "anabranch/verify/verify.h"
#include "tools/commands.h"
#include "tools/document.h"

namespace anabranch::tools {
namespace {

void append(std::vector<Diagnostic>& all, const std::vector<Diagnostic>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

bool says_streams(const formats::DumpGraph& graph) {
  for (const formats::DumpOp& op : graph.ops) {
    if (op.attributes.count(std::string(keys::kAssignedStream)) > 0 ||
        op.attributes.count("stream_id") > 0) {
      return true;
    }
  }
  return false;
}

/// Places events for the stated edges only; what they leave unordered is a race.
std::vector<Diagnostic> check_as_stated(Graph graph) {
  std::vector<Diagnostic> findings = verify::check_graph(graph);
  if (verify::has_errors(findings)) return findings;
  append(findings, passes::assign_streams(graph, false));
  Schedule schedule = passes::place_events(graph, nullptr);
  passes::plan_buffers(graph, schedule, HappensBefore(graph, schedule));
  append(findings, verify::check_schedule(graph, schedule));
  return findings;
}

std::vector<Diagnostic> check(const Document& document, size_t number, std::string& how) {
  try {
    Graph graph = graph_of(document, number);
    if (document.schedule) {
      how = "the schedule in the file";
      std::vector<Diagnostic> findings = verify::check_graph(graph);
      append(findings, verify::check_schedule(graph, *document.schedule));
      return findings;
    }
    if (says_streams(document.graphs[number])) {
      how = "the order that the dump states";
      return check_as_stated(std::move(graph));
    }
    how = "the schedule that compiling it gives";
    return passes::compile(std::move(graph), {}).diagnostics;
  } catch (const Error& error) {
    return error.diagnostics();
  }
}

}  // namespace

bool verify_file(const std::string& file) {
  Document document = load(file);
  print_diagnostics(document.diagnostics);
  bool bad = verify::has_errors(document.diagnostics);
  for (size_t i = 0; i < document.graphs.size(); ++i) {
    std::string how = "the graph";
    std::vector<Diagnostic> findings = check(document, i, how);
    bool errors = verify::has_errors(findings);
    bad |= errors;
    std::cout << fmt::format("graph \"{}\" ({} operators), {}: {}\n", document.graphs[i].name,
                             document.graphs[i].ops.size(), how, errors ? "not legal" : "correct");
    for (const Diagnostic& finding : findings) std::cout << to_string(finding) << "\n";
  }
  return !bad;
}

}  // namespace anabranch::tools
