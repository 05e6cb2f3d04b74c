#include "anabranch/torch_ops/program_class.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "anabranch/backends/cpu/helper_threads.h"
#include "anabranch/formats/formats.h"
#include "anabranch/ir/text.h"
#include "anabranch/runtime/adversary.h"
#include "anabranch/runtime/recorder.h"
#include "anabranch/schedule/text.h"
#include "anabranch/torch_ops/door.h"
#include "anabranch/torch_ops/errors.h"
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

}  // namespace

ProgramClass::ProgramClass(const std::string& graph_text, const std::string& options_json,
                           std::vector<at::Tensor> constants) {
  Options options = parse_options(options_json);
  Graph captured = parse_graph(graph_text);
  if (!options.name.empty()) captured.name = options.name;
  if (!options.costs.empty()) options.pipeline.durations = read_costs(options.costs, captured.name);
  torch_backend::AtenKernels kernels(std::move(constants), &HelperThreads::instance());
  auto device = make_device(options.threads, options.max_workers, options.pin);
  options.pipeline.machine_cores = device->cores();
  program_ = std::make_unique<Program>(std::move(captured), options.pipeline, kernels, device,
                                       options.tuning);
  plan_ = kernels.plan();
}

ProgramClass::~ProgramClass() = default;

torch_backend::CallOutputs ProgramClass::run(std::vector<at::Tensor> tensors,
                                             std::vector<int64_t> integers) {
  Door::Passage passage(WorkerPool::inside_call());
  last_error_context().clear();
  torch_backend::CallInputs inputs =
      torch_backend::prepare_inputs(*plan_, std::move(tensors), std::move(integers));
  if (inputs.overlapping) {
    note(overlap_noted_,
         {Severity::Warning,
          "overlapping-inputs",
          "an input that the graph writes shares memory with another input: such calls "
          "run on one stream in program order",
          "pass tensors that do not overlap, or clone one of them",
          {}});
  }
  if (inputs.watched) {
    note(watch_noted_,
         {Severity::Warning,
          "watched-call",
          "a dispatch mode, a function transform or a tensor subclass sees this call: such "
          "calls run on one stream in program order, through the whole dispatcher",
          "",
          {}});
  }
  bool serial = inputs.overlapping || inputs.watched;
  int number = calls_.fetch_add(1, std::memory_order_relaxed);
  torch_backend::CallOutputs outputs;
  auto seed = adversary_seed();
  bool traced = TraceSession::instance().active();
  if (!seed && !traced) {
    call(inputs, outputs, serial ? Streams::One : Streams::Folded, nullptr);
    return outputs;
  }
  // Each call of a seed has other delays; the recorder is closest to the kernels.
  Adversary adversary(seed.value_or(0) + static_cast<uint64_t>(number) * 1000003);
  Recorder recorder;
  std::vector<Observer*> observers;
  if (seed) observers.push_back(&adversary);
  if (traced) observers.push_back(&recorder);
  ObserverList list(std::move(observers));
  struct Append {
    const Graph& graph;
    const Recorder& recorder;
    int number;
    ~Append() {
      const Schedule* schedule = recorder.schedule();  // null when the call did not get that far
      if (schedule) TraceSession::instance().append(graph, *schedule, recorder, number);
    }
  } append{program_->compiled().graph, recorder, number};
  // Folding would hide from the adversary what the events do not order.
  Streams streams = serial ? Streams::One : seed ? Streams::All : Streams::Folded;
  call(inputs, outputs, streams, &list);
  return outputs;
}

void ProgramClass::call(torch_backend::CallInputs& inputs, torch_backend::CallOutputs& outputs,
                        Streams streams, Observer* observer) {
  auto bind = [&](CallValues& values) {
    torch_backend::bind_inputs(inputs, static_cast<torch_backend::TorchValues&>(values));
  };
  auto collect = [&](CallValues& values) {
    outputs = torch_backend::collect_outputs(static_cast<torch_backend::TorchValues&>(values));
  };
  try {
    switch (streams) {
      case Streams::One: program_->run_serial(bind, collect, observer); break;
      case Streams::Folded: program_->run(bind, collect, observer); break;
      case Streams::All: program_->run_unfolded(bind, collect, observer); break;
    }
  } catch (const OperatorError& error) {
    last_error_context() = " (" + error.context() + ")";
    rethrow(error);
  }
}

void ProgramClass::note(std::once_flag& once, Diagnostic diagnostic) {
  std::call_once(once, [&] {
    std::string text = to_string(diagnostic);
    TORCH_WARN(program_->compiled().graph.name, ": ", text);
    std::lock_guard lock(notes_mutex_);
    notes_.push_back(std::move(text));
  });
}

const Graph& ProgramClass::graph(const std::string& which) const {
  if (which == "original") return program_->compiled().original;
  if (which == "optimized") return program_->compiled().graph;
  throw Error("unknown-name", fmt::format("no graph is called \"{}\"", which),
              "original or optimized");
}

std::string ProgramClass::dump(const std::string& which, const std::string& kind) const {
  formats::DumpGraph dumped = formats::to_dump(graph(which));
  if (kind == "pbtxt") return formats::write_torchair_pbtxt(dumped);
  if (kind == "txt") return formats::write_ge_text(dumped);
  throw Error("unknown-name", fmt::format("no dump is of kind \"{}\"", kind), "pbtxt or txt");
}

std::string ProgramClass::text(const std::string& which) const {
  const passes::Compiled& compiled = program_->compiled();
  if (which == "schedule") return print_schedule(compiled.graph, compiled.schedule);
  if (which == "serial") return print_schedule(compiled.graph, compiled.serial);
  return print_graph(graph(which));
}

std::vector<std::string> ProgramClass::diagnostics() const {
  std::vector<std::string> texts;
  for (const Diagnostic& diagnostic : program_->compiled().diagnostics)
    texts.push_back(to_string(diagnostic));
  if (std::optional<Diagnostic> tuned = program_->tuned()) texts.push_back(to_string(*tuned));
  std::lock_guard lock(notes_mutex_);
  texts.insert(texts.end(), notes_.begin(), notes_.end());
  return texts;
}

}  // namespace anabranch::torch_ops
