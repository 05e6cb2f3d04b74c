#include "anabranch/program/tuner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "anabranch/analysis/operator_class.h"
#include "anabranch/passes/dependencies.h"
#include "anabranch/passes/passes.h"
#include "anabranch/passes/thread_sensitive.h"
#include "anabranch/verify/verify.h"

namespace anabranch {
namespace {

constexpr int kMeasureRounds = 2;
constexpr int kTrialRounds = 5;    // the first one warms up
constexpr size_t kMostPlans = 2;   // that are tried
constexpr double kTie = 0.98;      // of the time on one stream: what streams must reach
constexpr double kHopeless = 1.3;  // of the best prediction: not tried
constexpr double kCrossNs = 3000;  // until another lane goes on, mostly spinning

passes::CorePlan plan_of(const Schedule& schedule) {
  passes::CorePlan plan;
  plan.schedule = schedule;
  return plan;
}

template <class Change>
passes::CorePlan changed(const Schedule& schedule, Change change) {
  passes::CorePlan plan = plan_of(schedule);
  for (StreamProgram& program : plan.schedule.streams) {
    for (Command& command : program.commands) {
      if (auto* launch = std::get_if<Launch>(&command)) change(*launch);
    }
  }
  return plan;
}

bool has_kernel(const Node& node) { return node.kind == NodeKind::Operator; }

}  // namespace

/// One way to run the program.
struct Tuner::Candidate {
  std::string name;
  passes::CorePlan plan;  // unused when it is the program's own executor
  std::unique_ptr<Executor> own;
  const Executor* executor = nullptr;
  std::unique_ptr<CallState> state;
  std::vector<int64_t> took;

  /// The mean of the two fastest: one alone may be luck.
  double time() const {
    std::vector<int64_t> sorted(took.begin() + (took.size() > 1 ? 1 : 0), took.end());
    std::sort(sorted.begin(), sorted.end());
    if (sorted.size() == 1) return static_cast<double>(sorted[0]);
    return static_cast<double>(sorted[0] + sorted[1]) / 2;
  }
};

struct Tuner::Step {
  size_t candidate = 0;
  What what = What::Whole;
  bool counts = true;
};

Tuner::Tuner(const Graph& graph, const Schedule& logical, const Schedule& serial,
             const Executor& streams, Device& device, const LoadedKernels& kernels,
             TunerOptions options)
    : graph_(graph),
      logical_(logical),
      serial_(serial),
      streams_(streams),
      device_(device),
      kernels_(kernels),
      options_(std::move(options)) {
  times_.cores = options_.cores;
  times_.times.resize(graph.nodes.size());
  if (find_known_times()) {
    plan_trials();
  } else {
    plan_measurements();
  }
}

Tuner::~Tuner() = default;

bool Tuner::find_known_times() {
  TimeTable& table = TimeTable::of(options_.time_file);
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (!has_kernel(graph_.nodes[i])) continue;
    std::optional<OperatorTime> known = table.find(time_key(graph_, NodeId(i)));
    if (!known) return false;
    times_.times[i] = *known;
    if (!kernels_.can_split(NodeId(i))) times_.times[i].split = 0;
  }
  return true;
}

Tuner::Candidate& Tuner::add_candidate(std::string name, passes::CorePlan plan) {
  auto made = std::make_unique<Candidate>();
  made->name = std::move(name);
  made->plan = std::move(plan);
  if (options_.verify) {
    std::vector<Diagnostic> findings = verify::check_schedule(graph_, made->plan.schedule);
    if (verify::has_errors(findings)) throw Error(findings);
  }
  made->own = std::make_unique<Executor>(graph_, made->plan.schedule, device_, kernels_);
  made->executor = made->own.get();
  candidates_.push_back(std::move(made));
  return *candidates_.back();
}

void Tuner::plan_measurements() {
  times_.times.assign(graph_.nodes.size(), {});
  bool splits = false;
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    splits = splits || (has_kernel(graph_.nodes[i]) && kernels_.can_split(NodeId(i)));
  }
  add_candidate("all cores", plan_of(serial_));
  add_candidate("one thread", changed(serial_, [&](Launch& launch) {
                  if (!passes::is_thread_sensitive(graph_, graph_.node(launch.node)))
                    launch.threads = 1;
                }));
  if (splits) {
    add_candidate("parts", changed(serial_, [&](Launch& launch) {
                    launch.split = kernels_.can_split(launch.node);
                  }));
  }
  steps_.push_back({0, What::All, false});
  for (int round = 0; round < kMeasureRounds; ++round) {
    steps_.push_back({0, What::All});
    steps_.push_back({1, What::One});
    if (splits) steps_.push_back({2, What::Split});
  }
}

std::optional<Tuner::Turn> Tuner::begin() {
  if (finished() || busy_.exchange(true, std::memory_order_acquire)) return std::nullopt;
  if (finished()) {
    busy_.store(false, std::memory_order_release);
    return std::nullopt;
  }
  const Step& step = steps_[next_];
  Candidate& candidate = *candidates_[step.candidate];
  if (!candidate.state) candidate.state = candidate.executor->make_state();
  Observer* observer = step.what == What::Whole ? nullptr : &recorder_;
  return std::optional<Turn>(std::in_place, *this, *candidate.executor, *candidate.state, observer);
}

/// A plan that cannot be proven or loaded is never run: the program stays as it is.
void Tuner::take(int64_t nanoseconds) {
  try {
    advance(nanoseconds);
  } catch (const std::exception& problem) {
    winner_ = nullptr;
    chosen_ = nullptr;
    decision_ = {
        Severity::Warning, "tune", fmt::format("tune: stopped: {}", problem.what()), "", {}};
    finished_.store(true, std::memory_order_release);
  }
}

void Tuner::advance(int64_t nanoseconds) {
  const Step& step = steps_[next_];
  if (step.what == What::Whole) {
    candidates_[step.candidate]->took.push_back(nanoseconds);
  } else if (step.counts) {
    collect(step.what);
  }
  if (++next_ < steps_.size()) return;
  if (step.what == What::Whole) {
    decide();
    return;
  }
  keep_times();
  plan_trials();
}

void Tuner::collect(What what) {
  for (const Recorder::Span& span : recorder_.streams()[0].launches) {
    NodeId node = span.launch.node;
    if (!has_kernel(graph_.node(node))) continue;
    OperatorTime& time = times_.times[node.index()];
    double& slot = what == What::All ? time.all : what == What::One ? time.one : time.split;
    if (what == What::Split && !kernels_.can_split(node)) continue;
    auto took = static_cast<double>(std::max<int64_t>(1, span.end - span.begin));
    slot = slot > 0 ? std::min(slot, took) : took;
  }
}

void Tuner::keep_times() {
  std::map<std::string, OperatorTime> sums;
  std::map<std::string, int> counts;
  std::vector<std::string> keys(graph_.nodes.size());
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (!has_kernel(graph_.nodes[i])) continue;
    keys[i] = time_key(graph_, NodeId(i));
    OperatorTime& sum = sums[keys[i]];
    sum.one += times_.times[i].one;
    sum.all += times_.times[i].all;
    sum.split += times_.times[i].split;
    ++counts[keys[i]];
  }
  std::vector<std::pair<std::string, OperatorTime>> entries;
  for (auto& [key, sum] : sums) {
    double n = counts[key];
    entries.emplace_back(key, OperatorTime{sum.one / n, sum.all / n, sum.split / n});
  }
  TimeTable::of(options_.time_file).add(entries);
}

void Tuner::plan_trials() {
  candidates_.clear();
  steps_.clear();
  next_ = 0;
  passes::CorePlan one = passes::one_lane(graph_, logical_, times_, options_.caps);
  std::vector<passes::CorePlan> plans =
      passes::place_on_cores(graph_, logical_, times_, options_.caps, kCrossNs);
  double best = plans.empty() ? one.ns : std::min(one.ns, plans.front().ns);
  add_candidate("one stream with all cores", std::move(one));
  if (options_.user_streams) {
    candidates_.push_back(std::make_unique<Candidate>());
    candidates_.back()->name = "the streams as labelled";
    candidates_.back()->executor = &streams_;
  }
  // Plans that differ: side by side shares the memory bandwidth, which single operators do not
  // show.
  std::vector<size_t> wide;
  for (passes::CorePlan& plan : plans) {
    if (wide.size() == kMostPlans || plan.ns > kHopeless * best) break;
    if (std::find(wide.begin(), wide.end(), plan.wide) != wide.end()) continue;
    wide.push_back(plan.wide);
    add_candidate(fmt::format("on cores with {} operators alone", plan.wide), std::move(plan));
  }
  if (candidates_.size() == 1) {
    decide();
    return;
  }
  for (int round = 0; round < kTrialRounds; ++round) {
    for (size_t c = 0; c < candidates_.size(); ++c) steps_.push_back({c, What::Whole});
  }
}

void Tuner::decide() {
  winner_ = candidates_.front().get();
  if (candidates_.size() > 1) {
    double least = kTie * winner_->time();
    for (const auto& candidate : candidates_) {
      if (candidate.get() == winner_ || candidate->time() >= least) continue;
      winner_ = candidate.get();
      least = candidate->time();
    }
  }
  std::vector<std::string> took;
  for (const auto& candidate : candidates_) {
    if (candidates_.size() > 1)
      took.push_back(fmt::format("{} {:.1f} us", candidate->name, candidate->time() / 1e3));
  }
  std::string text = "tune: " + winner_->name;
  if (winner_->executor == candidates_.front()->executor && candidates_.size() > 1)
    text += " (" + why_one_stream() + ")";
  if (winner_->plan.split > 0) text += fmt::format(", {} operators in parts", winner_->plan.split);
  if (!took.empty()) text += fmt::format("; measured: {}", fmt::join(took, ", "));
  decision_ = {Severity::Note, "tune", text, "", {}};
  chosen_ = winner_->executor == &streams_ ? nullptr : winner_->executor;
  finished_.store(true, std::memory_order_release);
}

/// Why the labels run on one stream, from the times of the operators.
std::string Tuner::why_one_stream() const {
  passes::Dependencies dependencies(graph_);
  std::vector<double> end(graph_.nodes.size(), 0);
  double total = 0, chain = 0;
  bool cube = false;
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (!graph_.nodes[i].launches()) continue;
    double own = times_.with(NodeId(i), times_.cores).ns;
    for (const passes::Dependency& dependency : dependencies.of(NodeId(i)))
      end[i] = std::max(end[i], end[dependency.from.index()]);
    end[i] += own;
    total += own;
    chain = std::max(chain, end[i]);
    cube = cube || (graph_.nodes[i].stream != kDefaultStream &&
                    operator_class(graph_.nodes[i]) == OperatorClass::Cube);
  }
  if (chain >= kTie * total) return "serial";
  std::vector<passes::CorePlan> free =
      passes::place_on_cores(graph_, logical_, times_, options_.caps, 0);
  if (!free.empty() && free.front().ns < 0.9 * kTie * total) return "too small";
  return cube ? "saturated" : "vector only";
}

std::string Tuner::placement() const {
  if (!winner_ || winner_->executor == &streams_) return to_string(decision_) + "\n";
  struct Count {
    std::vector<size_t> on;  // by lane
    size_t wide = 0, parts = 0;
  };
  std::vector<Count> labels(graph_.streams.size());
  const Schedule& schedule = winner_->plan.schedule;
  for (size_t lane = 0; lane < schedule.streams.size(); ++lane) {
    for (const Command& command : schedule.streams[lane].commands) {
      const auto* launch = std::get_if<Launch>(&command);
      if (!launch || !has_kernel(graph_.node(launch->node))) continue;
      Count& count = labels[graph_.node(launch->node).stream.index()];
      count.on.resize(schedule.streams.size(), 0);
      bool wide = launch->threads == 0 || launch->threads > std::max(1, schedule.lanes.each);
      ++(wide ? count.wide : count.on[lane]);
      count.parts += launch->split;
    }
  }
  std::string text = to_string(decision_) + "\n";
  for (size_t s = 0; s < labels.size(); ++s) {
    text += fmt::format("  {}:", describe(graph_.streams[s]));
    const char* comma = " ";
    for (size_t lane = 0; lane < labels[s].on.size(); ++lane) {
      if (labels[s].on[lane] == 0) continue;
      text += fmt::format("{}{} operators on core {}", comma, labels[s].on[lane],
                          lane * static_cast<size_t>(std::max(1, schedule.lanes.each)));
      comma = ", ";
    }
    if (labels[s].wide > 0) {
      text += fmt::format("{}{} alone with all cores", comma, labels[s].wide);
      comma = ", ";
    }
    if (labels[s].parts > 0) text += fmt::format("{}{} in parts", comma, labels[s].parts);
    text += "\n";
  }
  return text;
}

}  // namespace anabranch
