#include "anabranch/torch_ops/draft.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <unordered_map>

#include "anabranch/ir/text.h"
#include "anabranch/torch_ops/session.h"
#include "anabranch/trace/trace.h"

namespace anabranch::torch_ops {
namespace {

struct Options {
  std::string name;
  passes::PipelineOptions pipeline;
  int threads = 0;
  size_t max_workers = 0;
  bool pin = false;
  std::string costs;  // path of a trace, or empty
  Tuning tuning;
};

/// Moves an option, if it is given, from the object to where it is kept.
template <class T>
void take(nlohmann::json& object, const char* key, T& target) {
  auto found = object.find(key);
  if (found == object.end()) return;
  if (!found->is_null()) found->get_to(target);
  object.erase(found);
}

Options parse_options(const std::string& text) {
  Options options;
  std::string launch_order, core_limit, auto_streams = "off", tune = "off";
  try {
    nlohmann::json object = text.empty() ? nlohmann::json::object() : nlohmann::json::parse(text);
    take(object, "name", options.name);
    take(object, "single_stream", options.pipeline.single_stream);
    take(object, "multi_stream", options.pipeline.multi_stream);
    take(object, "threads", options.threads);
    take(object, "verify", options.pipeline.verify);
    take(object, "launch_order", launch_order);
    take(object, "aicore_num", core_limit);
    take(object, "auto_streams", auto_streams);
    take(object, "fold", options.pipeline.fold);
    take(object, "costs", options.costs);
    take(object, "max_workers", options.max_workers);
    take(object, "pin", options.pin);
    take(object, "small_memory", options.pipeline.small_memory);
    take(object, "tune", tune);
    take(object, "time_file", options.tuning.time_file);
    if (!object.empty()) {
      throw Error("unknown-option",
                  fmt::format("unknown option \"{}\"", object.items().begin().key()),
                  "one of name, single_stream, multi_stream, threads, verify, launch_order, "
                  "aicore_num, auto_streams, fold, costs, max_workers, pin, small_memory, tune, "
                  "time_file");
    }
  } catch (const nlohmann::json::exception& error) {
    throw Error("bad-options",
                fmt::format("the options are not what is expected: {}", error.what()),
                "a JSON object with the keys of Program's documentation");
  }
  options.pipeline.launch_order = passes::parse_launch_order(launch_order);
  if (!core_limit.empty()) options.pipeline.limits.graph = passes::parse_core_count(core_limit);
  options.pipeline.auto_streams = passes::parse_auto_streams(auto_streams);
  options.tuning.on = tune != "off";
  options.pipeline.cores = options.threads > 0 ? options.threads : at::get_num_threads();
  return options;
}

/// What the operators of the graph took in the recorded run.
MeasuredDurations read_costs(const std::string& path, const std::string& graph_name) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) {
    throw Error("bad-option", fmt::format("the trace \"{}\" of option costs cannot be read", path),
                "a file that anabranch.trace(path) wrote");
  }
  return measured_durations(trace::read_chrome_json(text.str()), graph_name);
}

passes::Fusible by_name(const FusibleNames& names) {
  std::unordered_map<std::string, passes::Fusion> table;
  for (const std::string& name : names.with_others) table[name] = passes::Fusion::WithOthers;
  for (const std::string& name : names.alone) table[name] = passes::Fusion::Alone;
  for (const std::string& name : names.by_itself) table[name] = passes::Fusion::ByItself;
  if (table.empty()) return {};
  return [table = std::move(table)](const Node& node) {
    auto found = table.find(node.name);
    return found == table.end() ? passes::Fusion::None : found->second;
  };
}

}  // namespace

Draft make_draft(Captured captured, const FusibleNames& fusible) {
  Options options = parse_options(captured.options);
  Graph graph = parse_graph(captured.graph_text);
  if (!options.name.empty()) graph.name = options.name;
  if (!options.costs.empty()) options.pipeline.durations = read_costs(options.costs, graph.name);
  Draft draft;
  draft.kernels = std::make_unique<torch_backend::AtenKernels>(captured.constants);
  draft.device = make_device(options.threads, options.max_workers, options.pin);
  options.pipeline.machine_cores = draft.device->cores();
  draft.tuning = options.tuning;
  passes::PipelineOptions known =
      known_options(graph, options.pipeline, *draft.kernels, options.tuning);
  draft.plan = passes::make_plan(std::move(graph), known, by_name(fusible));
  draft.captured = std::move(captured);
  return draft;
}

}  // namespace anabranch::torch_ops
