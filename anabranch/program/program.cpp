#include "anabranch/program/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "anabranch/passes/super_kernel.h"
#include "anabranch/runtime/recorder.h"

namespace anabranch {
namespace {

std::string message_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

/// The failure of an operator inside a control operator: its own exception and place.
void unwrap_body_failure(LaunchFailure& failure, std::string& context) {
  try {
    std::rethrow_exception(failure.error);
  } catch (const BodyFailure& inner) {
    std::exception_ptr original = inner.error;
    context = inner.where + ", " + context;
    failure.error = std::move(original);
  } catch (...) {
  }
}

void collect_labels(const Graph& graph, std::set<std::string>& labels) {
  for (const Node& node : graph.nodes) {
    const std::string* label = find_string(node.attributes, keys::kStreamLabel);
    if (label && !label->empty() && node.launches()) labels.insert(*label);
    for (const auto& body : node.bodies) collect_labels(*body, labels);
  }
}

/// Stream labels inside bodies: their operators run in order on the control operator's stream.
std::string bodies_text(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) {
    std::set<std::string> labels;
    for (const auto& body : node.bodies) collect_labels(*body, labels);
    if (labels.empty()) continue;
    text += fmt::format("  {} runs its bodies in order on {}; labels inside: {}\n", node.name,
                        describe(graph.streams[node.stream.index()]), fmt::join(labels, ", "));
  }
  return text;
}

}  // namespace

OperatorError::OperatorError(LaunchFailure failure, std::string context)
    : std::runtime_error(fmt::format("{} ({})", message_of(failure.error), context)),
      failure_(std::move(failure)),
      context_(std::move(context)) {}

passes::PipelineOptions known_options(const Graph& graph, passes::PipelineOptions options,
                                      const KernelSet& kernels, const Tuning& tuning) {
  options.placeable = [&kernels](const Graph& g) { return kernels.placeable(g); };
  if (!tuning.on) return options;
  const TimeTable& table = TimeTable::of(tuning.time_file);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.kind != NodeKind::Operator || options.durations.contains(node.name)) continue;
    if (std::optional<OperatorTime> time = table.find(time_key(graph, NodeId(i))))
      options.durations[node.name] = {time->all, 0, time->one};
  }
  return options;
}

namespace {

passes::Compiled compile_known(Graph graph, const passes::PipelineOptions& options,
                               const KernelSet& kernels, const Tuning& tuning) {
  passes::PipelineOptions known = known_options(graph, options, kernels, tuning);
  return passes::compile(std::move(graph), known);
}

}  // namespace

struct Program::Context {
  std::unique_ptr<CallValues> values;
  std::unique_ptr<CallState> parallel, serial, unfolded, tuned;  // made when they are first needed
};

/// Cleared and kept on every way out, also when bind or collect throws.
struct Program::Lease {
  explicit Lease(Program& owner) : program(owner), context(owner.take_context()) {}
  ~Lease() {
    program.kernels_->clear(*context->values);
    program.idle_.give_back(std::move(context));
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  CallResult try_run(const Executor& executor, std::unique_ptr<CallState>& state,
                     Observer* observer) {
    if (!state) state = executor.make_state();
    return executor.try_run(*state, *context->values, observer);
  }

  Program& program;
  std::unique_ptr<Context> context;
};

Program::Program(Graph captured, const passes::PipelineOptions& options, KernelSet& kernels,
                 std::shared_ptr<Device> device, const Tuning& tuning)
    : Program(compile_known(std::move(captured), options, kernels, tuning), options, kernels,
              std::move(device), tuning) {}

Program::Program(passes::Compiled compiled, const passes::PipelineOptions& options,
                 KernelSet& kernels, std::shared_ptr<Device> device, const Tuning& tuning)
    : compiled_(std::move(compiled)),
      device_(std::move(device)),
      kernels_(kernels.load(compiled_.graph, memory_layout(compiled_.schedule))),
      parallel_(
          std::make_unique<Executor>(compiled_.graph, compiled_.schedule, *device_, *kernels_)),
      serial_(std::make_unique<Executor>(compiled_.graph, compiled_.serial, *device_, *kernels_)) {
  if (tuning.on && options.fold) make_tuner(options, tuning);
}

Program::~Program() = default;

void Program::make_tuner(const passes::PipelineOptions& options, const Tuning& tuning) {
  const Graph& graph = compiled_.graph;
  if (options.cores < 2 || !passes::may_place_on_cores(graph, compiled_.schedule)) return;
  bool streams = false, workers = false, splits = false;
  for (size_t s = 1; s < compiled_.schedule.streams.size(); ++s) {
    bool used = !compiled_.schedule.streams[s].commands.empty();
    streams = streams || used;
    workers = workers || (used && !compiled_.schedule.streams[s].folded);
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) splits = splits || kernels_->can_split(NodeId(i));
  if (!streams && !splits) return;
  tuner_ = std::make_unique<Tuner>(graph, compiled_.schedule, compiled_.serial, *parallel_,
                                   *device_, *kernels_,
                                   TunerOptions{.cores = options.cores,
                                                .caps = compiled_.caps,
                                                .verify = options.verify,
                                                .time_file = tuning.time_file,
                                                .user_streams = workers});
  // Said when it is decided, once.
  std::erase_if(compiled_.diagnostics,
                [](const Diagnostic& found) { return found.rule == "fold"; });
}

std::optional<Diagnostic> Program::tuned() const {
  if (!tuner_ || !tuner_->finished()) return std::nullopt;
  return tuner_->decision();
}

void Program::run(const Exchange& bind, const Exchange& collect, Observer* observer) {
  if (tuning() && !observer && !device_->inside_call()) {
    if (auto turn = tuner_->begin()) return measure(std::move(*turn), bind, collect);
  }
  call(Streams::Folded, bind, collect, observer);
}

void Program::measure(Tuner::Turn turn, const Exchange& bind, const Exchange& collect) {
  Lease lease(*this);
  CallValues& values = *lease.context->values;
  if (bind) bind(values);
  int64_t begin = now_ns();
  CallResult result = turn.executor.try_run(turn.state, values, turn.observer);
  int64_t took = now_ns() - begin;
  bool measured = result.ran && !result.failure;
  if (!result.ran) result = lease.try_run(*serial_, lease.context->serial, nullptr);
  finish(result, values, collect);
  if (measured) turn.done(took);
}

void Program::run_serial(const Exchange& bind, const Exchange& collect, Observer* observer) {
  call(Streams::One, bind, collect, observer);
}

void Program::run_unfolded(const Exchange& bind, const Exchange& collect, Observer* observer) {
  std::call_once(unfolded_made_, [&] {
    unfolded_ = std::make_unique<Executor>(compiled_.graph, compiled_.schedule, *device_, *kernels_,
                                           /*honour_folds=*/false);
  });
  call(Streams::Unfolded, bind, collect, observer);
}

std::unique_ptr<Program::Context> Program::take_context() {
  if (std::unique_ptr<Context> context = idle_.take()) return context;
  return std::make_unique<Context>(Context{kernels_->make_values(), nullptr, nullptr, nullptr});
}

void Program::call(Streams streams, const Exchange& bind, const Exchange& collect,
                   Observer* observer) {
  Lease lease(*this);
  Context& context = *lease.context;
  if (bind) bind(*context.values);
  CallResult result{.ran = false};
  const Executor* chosen = tuner_ && tuner_->finished() ? tuner_->chosen() : nullptr;
  if (streams == Streams::Folded) {
    result = chosen ? lease.try_run(*chosen, context.tuned, observer)
                    : lease.try_run(*parallel_, context.parallel, observer);
  }
  if (streams == Streams::Unfolded) result = lease.try_run(*unfolded_, context.unfolded, observer);
  if (!result.ran) result = lease.try_run(*serial_, context.serial, observer);
  finish(result, *context.values, collect);
}

void Program::finish(CallResult& result, CallValues& values, const Exchange& collect) const {
  if (result.failure) {
    std::string where = describe_failure(*result.failure);
    unwrap_body_failure(*result.failure, where);
    throw OperatorError(std::move(*result.failure), std::move(where));
  }
  if (collect) collect(values);
}

std::string Program::describe_failure(const LaunchFailure& failure) const {
  const Node& node = compiled_.graph.node(failure.node);
  // The stream that the user gave it, also when the call ran on one stream or on an inner one.
  const Stream& stream = compiled_.graph.streams[node.stream.index()];
  const std::string* label = find_string(node.attributes, keys::kStreamLabel);
  std::string context = fmt::format("in operator {}, {}", describe(node), describe(stream));
  if (label && !label->empty() && node.stream != kDefaultStream && *label != stream.label) {
    context = fmt::format("in operator {}, stream \"{}\" (inner {})", describe(node), *label,
                          describe(stream));
  }
  if (node.source.known()) context += fmt::format(", at {}", to_string(node.source));
  return context;
}

namespace {

size_t count_launches(const StreamProgram& program) {
  return static_cast<size_t>(std::count_if(
      program.commands.begin(), program.commands.end(),
      [](const Command& command) { return std::holds_alternative<Launch>(command); }));
}

std::string edges_text(const Graph& graph, const std::vector<passes::CrossEdge>& edges) {
  std::string text;
  for (const passes::CrossEdge& edge : edges) {
    const Node &from = graph.node(edge.from), &to = graph.node(edge.to);
    text += fmt::format("  {} ({}) -> {} ({}): {}\n", from.name,
                        describe(graph.streams[from.stream.index()]), to.name,
                        describe(graph.streams[to.stream.index()]), edge.why);
  }
  return text;
}

/// The launch units of super_kernel scopes, and why a run is not one of them.
std::string units_text(const Graph& graph, const std::vector<passes::UnitReport>& units) {
  if (units.empty()) return "";
  std::string text = fmt::format("super_kernel launch units: {}\n", units.size());
  for (const passes::UnitReport& unit : units) {
    const Node &first = graph.node(unit.operators.front()),
               &last = graph.node(unit.operators.back());
    text += fmt::format("  \"{}\" on {}: {} … {} ({} operators)",
                        *find_string(first.attributes, keys::kSuperKernel),
                        describe(graph.streams[first.stream.index()]), first.name, last.name,
                        unit.operators.size());
    if (unit.held_by.valid()) {
      const Node& other = graph.node(unit.held_by);
      text += fmt::format(
          "; split before {}: it waits for {} on {}, which waits for an operator "
          "before the split",
          first.name, other.name, describe(graph.streams[other.stream.index()]));
    }
    text += "\n";
  }
  return text;
}

/// The operators that may not use all threads, wherever they run.
std::string limits_text(const Graph& graph, const Schedule& serial) {
  std::string text;
  size_t count = 0;
  for (const Command& command : serial.streams.front().commands) {
    const auto* launch = std::get_if<Launch>(&command);
    if (!launch || launch->threads == 0) continue;
    ++count;
    text += fmt::format("  {}: at most {}\n", graph.node(launch->node).name, launch->threads);
  }
  if (count == 0) return "";
  return fmt::format("operators with a limit of threads: {}\n", count) + text;
}

}  // namespace

std::string Program::report() const {
  const Graph& graph = compiled_.graph;
  size_t launches = 0;
  for (const StreamProgram& program : compiled_.schedule.streams)
    launches += count_launches(program);
  std::string text =
      fmt::format("graph \"{}\": {} operators on {} streams, device {}\n", graph.name, launches,
                  compiled_.schedule.streams.size(), device_->name());
  const std::vector<size_t>& lanes = parallel_->lanes();
  for (size_t s = 0; s < compiled_.schedule.streams.size(); ++s) {
    const StreamProgram& program = compiled_.schedule.streams[s];
    text += fmt::format("  {}: {} operators, priority {}, ", describe(program.stream),
                        count_launches(program), program.stream.priority);
    text += lanes[s] == 0 ? "the calling thread" : fmt::format("worker {}", lanes[s]);
    text += program.folded ? " (folded)\n" : "\n";
  }
  text += bodies_text(graph);
  text += units_text(graph, compiled_.events.units);
  text += limits_text(graph, compiled_.serial);
  text += fmt::format("waits between streams: {}\n", compiled_.events.placed.size());
  text += edges_text(graph, compiled_.events.placed);
  text += fmt::format("orders that these already imply: {}\n", compiled_.events.redundant.size());
  text += edges_text(graph, compiled_.events.redundant);
  text += fmt::format(
      "memory: {} buffers in {} bytes a call (at least {}; unshared {}; {} orders for its sake)\n",
      compiled_.memory.placed, compiled_.memory.arena, compiled_.memory.lower_bound,
      compiled_.memory.unshared, compiled_.memory.reuse_edges);
  text += kernels_->report();
  for (const Diagnostic& diagnostic : compiled_.diagnostics) text += to_string(diagnostic) + "\n";
  if (tuner_ && tuner_->finished()) text += tuner_->placement();
  return text;
}

}  // namespace anabranch
