#include "anabranch/torch_ops/program_class.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

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

ProgramClass::ProgramClass(const std::string& graph_text, const std::string& options,
                           std::vector<at::Tensor> constants)
    : ProgramClass(make_draft({graph_text, options, std::move(constants)}, {}), {}, "") {}

ProgramClass::ProgramClass(Draft draft, passes::RegionSteps steps, const std::string& library) {
  torch_backend::AtenKernels kernels(draft.captured.constants, &HelperThreads::instance(), library);
  passes::PipelineOptions options = draft.plan.options;
  passes::Compiled compiled = passes::finish(std::move(draft.plan), std::move(steps));
  bool fused = compiled.before_regions.has_value();
  program_ =
      std::make_unique<Program>(std::move(compiled), options, kernels, draft.device, draft.tuning);
  plan_ = kernels.plan();
  if (fused) captured_ = std::move(draft.captured);
}

ProgramClass& ProgramClass::unfused() {
  std::call_once(unfused_made_, [&] {
    auto made = c10::make_intrusive<ProgramClass>(captured_->graph_text, captured_->options,
                                                  captured_->constants);
    std::lock_guard lock(notes_mutex_);
    unfused_ = std::move(made);
  });
  return *unfused_;
}

ProgramClass::~ProgramClass() = default;

torch_backend::CallOutputs ProgramClass::run(std::vector<at::Tensor> tensors,
                                             std::vector<int64_t> integers) {
  Door::Passage passage(WorkerPool::inside_call());
  last_error_context().clear();
  torch_backend::CallInputs inputs =
      torch_backend::prepare_inputs(*plan_, std::move(tensors), std::move(integers));
  if (captured_ && (inputs.overlapping || inputs.watched)) {
    // Who watches a call sees the user's operators, and so does a call whose order of memory was
    // not known when the regions were made.
    return unfused().run(std::move(inputs.tensors), std::move(inputs.integers));
  }
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
  const passes::Compiled& compiled = program_->compiled();
  if (which == "optimized")
    return compiled.before_regions ? *compiled.before_regions : compiled.graph;
  if (which == "launched") return compiled.graph;
  throw Error("unknown-name", fmt::format("no graph is called \"{}\"", which),
              "original, optimized or launched");
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
  if (unfused_) {
    std::vector<std::string> more = unfused_->diagnostics();
    texts.insert(texts.end(), more.begin(), more.end());
  }
  texts.insert(texts.end(), notes_.begin(), notes_.end());
  return texts;
}

}  // namespace anabranch::torch_ops
