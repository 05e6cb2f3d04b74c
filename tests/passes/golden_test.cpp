// Runs every file under tests/passes/<pass>/ through the pass that its folder names:
//
//   # what the file shows
//   === before
//   <graph text>
//   === after
//   <what the pass makes of it, or its error for files named *_invalid.txt>
//
// Some passes take more: `=== schedule` (verify), `=== options` with words such as `cores 4`,
// `launch_order BFS`, `aicore_num 8|16` or `single_stream`. ANABRANCH_UPDATE_GOLDEN=1 in the
// environment rewrites the `after` sections.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "anabranch/ir/text.h"
#include "anabranch/passes/pipeline.h"
#include "anabranch/schedule/text.h"
#include "anabranch/verify/verify.h"

namespace anabranch {
namespace {

namespace fs = std::filesystem;

struct Golden {
  std::string comment;
  std::map<std::string, std::string> sections;
  std::vector<std::string> order;

  bool has_option(const std::string& word) const {
    auto found = sections.find("options");
    return found != sections.end() && found->second.find(word) != std::string::npos;
  }
  std::string auto_streams() const {
    std::string mode = option("auto_streams");
    return mode.empty() ? "off" : mode;
  }
  /// The word after `word`, or "".
  std::string option(const std::string& word) const {
    auto found = sections.find("options");
    if (found == sections.end()) return "";
    std::istringstream words(found->second);
    for (std::string one; words >> one;) {
      if (one != word) continue;
      words >> one;
      return one;
    }
    return "";
  }
  int cores() const {
    std::string text = option("cores");
    return text.empty() ? 2 : std::atoi(text.c_str());
  }
  passes::LaunchOrder launch_order() const {
    return passes::parse_launch_order(option("launch_order"));
  }
  passes::CoreLimits limits() const {
    passes::CoreLimits limits;
    std::string text = option("aicore_num");
    if (!text.empty()) limits.graph = passes::parse_core_count(text);
    return limits;
  }
};

Golden read(const fs::path& path) {
  std::ifstream file(path);
  Golden golden;
  std::string* section = &golden.comment;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("=== ")) {
      golden.order.push_back(line.substr(4));
      section = &golden.sections[line.substr(4)];
    } else {
      *section += line + "\n";
    }
  }
  return golden;
}

void write(const fs::path& path, Golden golden, const std::string& after) {
  if (!golden.sections.contains("after")) golden.order.push_back("after");
  golden.sections["after"] = after;
  std::ofstream file(path);
  file << golden.comment;
  for (const std::string& name : golden.order)
    file << "=== " << name << "\n" << golden.sections[name];
}

std::string print(const std::vector<Diagnostic>& findings) {
  std::string text;
  for (const Diagnostic& finding : findings) text += to_string(finding) + "\n";
  return text;
}

std::string print(const Graph& graph, const passes::EventReport& report) {
  std::string text;
  auto add = [&](const char* what, const std::vector<passes::CrossEdge>& edges) {
    for (const passes::CrossEdge& edge : edges) {
      text += fmt::format("{} {} -> {}: {}\n", what, graph.node(edge.from).name,
                          graph.node(edge.to).name, edge.why);
    }
  };
  add("placed", report.placed);
  add("redundant", report.redundant);
  for (const passes::UnitReport& unit : report.units) {
    text += "unit";
    for (NodeId node : unit.operators) text += " " + graph.node(node).name;
    if (unit.held_by.valid()) text += " held by " + graph.node(unit.held_by).name;
    text += "\n";
  }
  return text;
}

using Pass = std::function<std::string(const Golden&, Graph)>;

std::string run_pipeline(const Golden& golden, Graph graph) {
  passes::PipelineOptions options;
  options.cores = golden.cores();
  options.single_stream = golden.has_option("single_stream");
  options.multi_stream = !golden.has_option("idle_streams");
  options.launch_order = golden.launch_order();
  options.limits = golden.limits();
  options.fold = golden.has_option("fold");
  options.auto_streams = passes::parse_auto_streams(golden.auto_streams());
  passes::Compiled compiled = passes::compile(std::move(graph), options);
  return "--- original\n" + print_graph(compiled.original) + "--- optimized\n" +
         print_graph(compiled.graph) + "--- schedule\n" +
         print_schedule(compiled.graph, compiled.schedule) + "--- events\n" +
         print(compiled.graph, compiled.events) + print(compiled.diagnostics);
}

/// Pointwise operators fuse with others, matrix products alone. `=== steps` replaces each region.
std::string run_regions(const Golden& golden, Graph graph) {
  auto fusible = [](const Node& node) {
    for (const char* name : {"aten.add.Tensor", "aten.mul.Tensor", "aten.relu.default"}) {
      if (node.op == name) return passes::Fusion::WithOthers;
    }
    return node.op == "aten.mm.default" ? passes::Fusion::Alone : passes::Fusion::None;
  };
  passes::assign_streams(graph, false);
  passes::order_effects(graph);
  std::vector<passes::Region> regions = passes::find_regions(graph, fusible);
  std::string text;
  for (const passes::Region& region : regions) {
    text += "region";
    for (NodeId node : region.operators) text += " " + graph.node(node).name;
    text += "; in";
    for (ValueId value : region.inputs) text += " %" + graph.value(value).name;
    text += "; out";
    for (ValueId value : region.outputs) text += " %" + graph.value(value).name;
    text += "\n";
  }
  if (!golden.sections.contains("steps")) return text;
  Graph steps = parse_graph(golden.sections.at("steps"));
  passes::replace_regions(graph, regions, std::vector<const Graph*>(regions.size(), &steps));
  return text + print_graph(graph) + print(verify::check_graph(graph));
}

const std::map<std::string, Pass>& all_passes() {
  static const std::map<std::string, Pass> table{
      {"waits",
       [](const Golden&, Graph graph) {
         passes::resolve_waits(graph);
         return print_graph(graph);
       }},
      {"effect_order",
       [](const Golden&, Graph graph) {
         passes::order_effects(graph);
         return print_graph(graph);
       }},
      {"launch_order",
       [](const Golden& golden, Graph graph) {
         passes::order_effects(graph);
         Graph before = graph;
         passes::order_launches(graph, golden.launch_order());
         return print_graph(graph) + print(verify::check_reordered(before, graph));
       }},
      {"streams",
       [](const Golden& golden, Graph graph) {
         auto warnings = passes::assign_streams(graph, golden.has_option("single_stream"));
         return print_graph(graph) + print(warnings);
       }},
      {"inner_streams",
       [](const Golden&, Graph graph) {
         passes::assign_streams(graph, false);
         passes::place_inner_streams(graph);
         return print_graph(graph);
       }},
      {"auto_streams",
       [](const Golden& golden, Graph graph) {
         auto mode = passes::parse_auto_streams(golden.auto_streams());
         DeviceProfile profile;
         profile.cores = golden.cores();
         passes::assign_streams(graph, false);
         passes::place_inner_streams(graph);
         auto note = passes::place_automatic_streams(graph, mode, CostModel(graph, profile), {});
         return print_graph(graph) + (note ? to_string(*note) + "\n" : "");
       }},
      {"fold",
       [](const Golden& golden, Graph graph) {
         DeviceProfile profile;
         profile.cores = golden.cores();
         passes::assign_streams(graph, false);
         Schedule schedule = passes::place_events(graph, nullptr);
         HappensBefore order(graph, schedule);
         passes::share_cores(graph, schedule, order, golden.cores(), {});
         auto note = passes::fold_streams(graph, schedule, order, CostModel(graph, profile), {});
         passes::share_cores(graph, schedule, order, golden.cores(), {});
         return print_schedule(graph, schedule) + (note ? to_string(*note) + "\n" : "");
       }},
      {"events",
       [](const Golden&, Graph graph) {
         passes::EventReport report;
         Schedule schedule = passes::place_events(graph, &report);
         return print_schedule(graph, schedule) + print(graph, report);
       }},
      {"regions", run_regions},
      {"buffers",
       [](const Golden&, Graph graph) {
         Schedule schedule = passes::place_events(graph, nullptr);
         passes::plan_buffers(graph, schedule, HappensBefore(graph, schedule));
         return print_schedule(graph, schedule);
       }},
      {"memory",
       [](const Golden&, Graph graph) {
         Schedule schedule = passes::place_events(graph, nullptr);
         HappensBefore order(graph, schedule);
         passes::plan_buffers(graph, schedule, order);
         passes::MemoryReport report = passes::plan_memory(
             graph, schedule, order, std::vector<bool>(graph.buffer_count, true));
         return print_schedule(graph, schedule) +
                fmt::format("placed {} arena {} lower bound {} unshared {}\n", report.placed,
                            report.arena, report.lower_bound, report.unshared);
       }},
      {"cores",
       [](const Golden& golden, Graph graph) {
         Schedule schedule = passes::place_events(graph, nullptr);
         passes::CoreLimits limits = golden.limits();
         HappensBefore order(graph, schedule);
         passes::share_cores(graph, schedule, order, golden.cores(),
                             passes::thread_caps(graph, limits, golden.cores()));
         return print_schedule(graph, schedule) +
                print(passes::check_core_limits(graph, schedule, order, limits));
       }},
      {"verify",
       [](const Golden& golden, Graph graph) {
         Schedule schedule = parse_schedule(graph, golden.sections.at("schedule"));
         return print(verify::check_schedule(graph, schedule));
       }},
      {"verify_graph",
       [](const Golden&, Graph graph) { return print(verify::check_graph(graph)); }},
      {"pipeline", run_pipeline},
  };
  return table;
}

std::string run(const std::string& pass, const Golden& golden) {
  try {
    return all_passes().at(pass)(golden, parse_graph(golden.sections.at("before")));
  } catch (const Error& error) {
    return std::string(error.what()) + "\n";
  }
}

std::vector<fs::path> find_files() {
  std::vector<fs::path> files;
  for (const auto& [pass, _] : all_passes()) {
    fs::path folder = fs::path(ANABRANCH_SOURCE_DIR) / "tests/passes" / pass;
    for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class GoldenFile : public testing::TestWithParam<fs::path> {};

TEST_P(GoldenFile, BeforeGivesAfter) {
  const fs::path& path = GetParam();
  Golden golden = read(path);
  ASSERT_TRUE(golden.sections.contains("before")) << path;
  EXPECT_TRUE(golden.comment.starts_with("# ")) << path << " must say what it shows";
  std::string after = run(path.parent_path().filename(), golden);
  bool refused = after.find("error[") != std::string::npos;
  EXPECT_EQ(refused, path.stem().string().ends_with("_invalid")) << after;
  if (std::getenv("ANABRANCH_UPDATE_GOLDEN")) return write(path, golden, after);
  ASSERT_TRUE(golden.sections.contains("after")) << path;
  EXPECT_EQ(after, golden.sections.at("after")) << path;
}

INSTANTIATE_TEST_SUITE_P(Passes, GoldenFile, testing::ValuesIn(find_files()),
                         [](const testing::TestParamInfo<fs::path>& file) {
                           std::string name = file.param.parent_path().filename().string() + "_" +
                                              file.param.stem().string();
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return !std::isalnum(c); },
                               '_');
                           return name;
                         });

}  // namespace
}  // namespace anabranch
