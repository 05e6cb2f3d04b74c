#include "anabranch/runtime/executor.h"

#include <algorithm>
#include <set>
#include <utility>

#include "anabranch/ir/communication.h"
#include "anabranch/schedule/lane_order.h"

namespace anabranch {

/// `counter` is kDirect for a buffer with one last use, which needs no counting.
struct Executor::Release {
  static constexpr uint32_t kDirect = UINT32_MAX;
  BufferId buffer;
  uint32_t counter = kDirect;
};

struct Executor::Step {
  enum class Kind : uint8_t { Launch, Mark, Record, Wait };
  Kind kind = Kind::Launch;
  bool computes = false;  // Launch: a kernel that uses cores and waits for nobody
  int cores = 0;          // that it claims; 0: it runs without asking
  int64_t priority = 0;
  StreamId stream;
  Launch launch;  // Launch, and Mark: a wait operator, which runs no kernel
  EventId event;  // Record, Wait
  uint32_t first_release = 0, last_release = 0;  // [first, last) of releases_
};

struct Executor::Call {
  CallState& state;
  CallValues& values;
  Observer* observer;
};

namespace {

/// Asks the device about the streams that are not folded; the folded ones take no worker.
std::vector<size_t> lanes_of(const Schedule& schedule, Device& device, bool honour_folds) {
  std::vector<StreamProgram> apart;
  for (const StreamProgram& program : schedule.streams) {
    if (!honour_folds || !program.folded) apart.push_back(program);
  }
  std::vector<size_t> given = device.assign_lanes(apart), lanes;
  size_t next = 0;
  for (const StreamProgram& program : schedule.streams)
    lanes.push_back(honour_folds && program.folded ? 0 : given[next++]);
  return lanes;
}

}  // namespace

Executor::Executor(const Graph& graph, const Schedule& schedule, Device& device,
                   const LoadedKernels& kernels, bool honour_folds)
    : graph_(graph),
      schedule_(schedule),
      device_(device),
      kernels_(kernels),
      lane_of_stream_(lanes_of(schedule, device, honour_folds)) {
  plan_steps(find_releases());
  plan_cores();
}

Executor::~Executor() = default;

/// By node.
std::vector<std::vector<Executor::Release>> Executor::find_releases() {
  std::vector<std::vector<Release>> found(graph_.nodes.size());
  for (const BufferLife& life : schedule_.buffers) {
    if (!kernels_.needs_release(life.buffer)) continue;
    Release release{life.buffer};
    if (life.releases.size() > 1) {
      release.counter = static_cast<uint32_t>(use_counts_.size());
      use_counts_.push_back(static_cast<uint32_t>(life.releases.size()));
    }
    for (NodeId node : life.releases) found[node.index()].push_back(release);
    if (life.releases.empty()) found[life.acquire.index()].push_back(release);
  }
  return found;
}

void Executor::plan_steps(const std::vector<std::vector<Release>>& releases_of_node) {
  lanes_.push_back(0);
  steps_.emplace_back();
  for (const OrderedCommand& place : lane_order(graph_, schedule_)) {
    size_t lane = lane_of_stream_[place.stream.index()];
    size_t position =
        static_cast<size_t>(std::find(lanes_.begin(), lanes_.end(), lane) - lanes_.begin());
    if (position == lanes_.size()) {
      lanes_.push_back(lane);
      steps_.emplace_back();
    }
    const auto& commands = schedule_.streams[place.stream.index()].commands;
    Step step = make_step(commands[place.index], place.stream);
    if (step.launch.node.valid()) {
      const std::vector<Release>& releases = releases_of_node[step.launch.node.index()];
      step.first_release = static_cast<uint32_t>(releases_.size());
      releases_.insert(releases_.end(), releases.begin(), releases.end());
      step.last_release = static_cast<uint32_t>(releases_.size());
    }
    steps_[position].push_back(step);
  }
}

/// Decides who has to claim cores: every kernel, if streams of different priority can want more
/// cores than there are, or if one that must be alone has others beside it. Without either nobody
/// does: streams of one priority leave it to the system who runs.
void Executor::plan_cores() {
  int wanted = 0, lanes = 0;
  bool exclusive = false;
  std::set<int64_t> priorities;
  for (const std::vector<Step>& steps : steps_) {
    int most = 0;
    for (const Step& step : steps) {
      if (!step.computes) continue;
      most = std::max({most, 1, step.launch.threads});
      exclusive |= step.launch.exclusive;
      priorities.insert(step.priority);
    }
    wanted += most;
    lanes += most > 0;
  }
  bool scarce = priorities.size() > 1 && wanted > device_.cores();
  if (lanes < 2 || !(scarce || exclusive)) return;
  cores_ = scarce ? device_.cores() : lanes;
  for (std::vector<Step>& steps : steps_) {
    for (Step& step : steps) {
      if (!step.computes) continue;
      int shared = scarce ? std::clamp(step.launch.threads, 1, cores_) : 1;
      step.cores = step.launch.exclusive ? cores_ : shared;
    }
  }
}

Executor::Step Executor::make_step(const Command& command, StreamId stream) const {
  Step step;
  step.stream = stream;
  step.priority = schedule_.streams[stream.index()].stream.priority;
  if (const auto* launch = std::get_if<Launch>(&command)) {
    const Node& node = graph_.node(launch->node);
    step.kind = node.kind == NodeKind::Operator ? Step::Kind::Launch : Step::Kind::Mark;
    step.launch = *launch;
    // A collective may have to wait for what this process does on another stream, so nobody may
    // wait for the collective; control operators and output hold no cores worth the name.
    step.computes = step.kind == Step::Kind::Launch && works_alone(node);
  } else if (const auto* record = std::get_if<Record>(&command)) {
    step.kind = Step::Kind::Record;
    step.event = record->event;
  } else {
    step.kind = Step::Kind::Wait;
    step.event = std::get<Wait>(command).event;
  }
  return step;
}

std::unique_ptr<CallState> Executor::make_state() const {
  auto state = std::make_unique<CallState>(cores_);
  state->events_ = device_.make_events(schedule_);
  state->uses_left_ = std::make_unique<std::atomic<uint32_t>[]>(use_counts_.size());
  refill(*state);
  return state;
}

void Executor::refill(CallState& state) const {
  for (size_t i = 0; i < use_counts_.size(); ++i) {
    state.uses_left_[i].store(use_counts_[i], std::memory_order_relaxed);
  }
}

CallResult Executor::try_run(CallState& state, CallValues& values, Observer* observer) const {
  state.events_->reset();
  if (observer) observer->before_call(schedule_);
  Call call{state, values, observer};
  struct Task {
    const Executor& executor;
    const Call& call;
  } task{*this, call};
  // Captures of at most two pointers, so that no std::function allocates.
  bool ran = device_.try_run(lanes_, [&task](size_t position) {
    const std::vector<Step>& steps = task.executor.steps_[position];
    task.executor.kernels_.on_thread(task.call.values, [&task, &steps](Launcher& launcher) {
      task.executor.walk(steps, task.call, launcher);
    });
  });
  if (state.failed_.load(std::memory_order_relaxed) == NodeId::kNone) return {ran, std::nullopt};
  refill(state);
  state.failed_.store(NodeId::kNone, std::memory_order_relaxed);
  return {ran, std::exchange(state.failure_, std::nullopt)};
}

void Executor::walk(const std::vector<Step>& steps, const Call& call, Launcher& launcher) const {
  CallEvents& events = *call.state.events_;
  Observer* observer = call.observer;
  CoreGate& gate = call.state.gate_;
  CoreGate::Grant grant;
  for (const Step& step : steps) {
    switch (step.kind) {
      case Step::Kind::Launch:
      case Step::Kind::Mark:
        // What comes before the failed operator in program order still runs: see try_run().
        if (step.launch.node.index() >= call.state.failed_.load(std::memory_order_relaxed)) break;
        if (step.cores > 0) {
          gate.claim(grant, step.cores, step.priority);
        } else if (grant.cores > 0 && step.kind == Step::Kind::Launch) {
          gate.give_back(grant);
        }
        launch(step, call, launcher);
        break;
      case Step::Kind::Record:
        if (observer) observer->before_record(step.stream, step.event);
        events.record(step.stream, step.event);
        if (observer) observer->after_record(step.stream, step.event);
        break;
      case Step::Kind::Wait:
        // Who waits holds no cores. An event that is already there is no wait.
        if (grant.cores > 0 && !events.recorded(step.event)) gate.give_back(grant);
        if (observer) observer->before_wait(step.stream, step.event);
        events.wait(step.stream, step.event);
        if (observer) observer->after_wait(step.stream, step.event);
        break;
    }
  }
  gate.give_back(grant);
}

void Executor::launch(const Step& step, const Call& call, Launcher& launcher) const {
  if (call.observer) call.observer->before_launch(step.stream, step.launch);
  bool failed = false;
  if (step.kind == Step::Kind::Launch) {
    try {
      if (step.launch.split) {
        launcher.launch_split(step.launch.node, step.launch.threads);
      } else {
        launcher.launch(step.launch.node, step.launch.threads);
      }
    } catch (...) {
      failed = true;
      fail(step, call.state);
    }
  }
  if (call.observer) call.observer->after_launch(step.stream, step.launch);
  if (!failed) release(step, call);
}

void Executor::fail(const Step& step, CallState& state) const {
  std::lock_guard lock(state.failure_mutex_);
  if (state.failure_ && state.failure_->node < step.launch.node) return;
  state.failure_ = LaunchFailure{std::current_exception(), step.launch.node, step.stream};
  state.failed_.store(static_cast<uint32_t>(step.launch.node.index()), std::memory_order_relaxed);
}

void Executor::release(const Step& step, const Call& call) const {
  for (uint32_t i = step.first_release; i < step.last_release; ++i) {
    const Release& release = releases_[i];
    if (release.counter != Release::kDirect) {
      // The last user sees the other users' accesses, and refills the counter for the next call.
      std::atomic<uint32_t>& left = call.state.uses_left_[release.counter];
      if (left.fetch_sub(1, std::memory_order_acq_rel) > 1) continue;
      left.store(use_counts_[release.counter], std::memory_order_relaxed);
    }
    kernels_.release(release.buffer, call.values);
  }
}

}  // namespace anabranch
