// Folds streams whose own worker cannot pay onto the calling thread.
//
// Guarantees: only StreamProgram::folded changes. The lists, the events and so the proof stay as
// they are: a lane walks its streams' commands in an order in which every wait comes after its
// record (schedule/lane_order.h), so sharing can neither deadlock nor reorder what is ordered.
//
// Nothing is folded in a graph with communication, whose duration other processes decide, nor in
// one with streams of different priorities, which shall decide who gets cores first. No stream is
// folded that has an operator whose cost is a guess (CostModel's `known`) and which may run beside
// another stream's: it might wait for what that stream does. Otherwise, in this order:
//   1. all streams, when no such operator is anywhere and the call is predicted to take at least
//      kGain of its time on one thread with all cores. The reason is "serial" if the longest chain
//      is at least kGain of all work, "too small" if the overlap would pay were waits free, "vector
//      only" if nothing but vector operators runs side by side (they share the memory bandwidth),
//      else "saturated": one operator at a time already uses all cores;
//   2. each stream that has no kernel which may run beside another stream's ("serial");
//   3. the streams whose work is less than the wake-up of a worker, when the prediction with them
//      folded is not longer and nothing on the default stream is a guess ("too small").
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "anabranch/analysis/concurrency.h"
#include "anabranch/analysis/makespan.h"
#include "anabranch/passes/own_stream.h"
#include "anabranch/passes/partition.h"
#include "anabranch/passes/passes.h"

namespace anabranch::passes {
namespace {

constexpr double kGain = 0.98;

struct StreamFacts {
  bool kernels = false;
  bool beside = false;   // a kernel of it may run at the same moment as another stream's
  bool guessed = false;  // and one of those has a cost that is a guess
  bool cube = false;     // and one of those is for the matrix unit
  bool communication = false;
  double work = 0;  // ns
};

class Folder {
 public:
  Folder(const Graph& graph, Schedule& schedule, const HappensBefore& order, const CostModel& costs,
         const std::vector<int>& caps)
      : graph_(graph),
        schedule_(schedule),
        costs_(costs),
        caps_(caps),
        facts_(schedule.streams.size()) {
    std::vector<uint32_t> width = concurrent_streams(graph, schedule, order);
    for (size_t s = 0; s < facts_.size(); ++s) {
      for (const Command& command : schedule.streams[s].commands) {
        const auto* launch = std::get_if<Launch>(&command);
        if (launch) collect(facts_[s], *launch, width[launch->node.index()]);
      }
    }
  }

  std::optional<Diagnostic> run() {
    bool communicates = std::any_of(facts_.begin(), facts_.end(),
                                    [](const StreamFacts& facts) { return facts.communication; });
    bool ranked = std::any_of(
        schedule_.streams.begin(), schedule_.streams.end(), [&](const StreamProgram& program) {
          return program.stream.priority != schedule_.streams[0].stream.priority;
        });
    if (communicates || ranked) return std::nullopt;
    if (auto note = fold_all()) return note;
    std::vector<std::string> serial =
        fold_where([](const StreamFacts& facts) { return facts.kernels && !facts.beside; });
    std::vector<std::string> small = fold_small();
    if (serial.empty() && small.empty()) return std::nullopt;
    std::string text;
    if (!serial.empty()) text += fmt::format("{} (serial)", fmt::join(serial, ", "));
    if (!small.empty())
      text += fmt::format("{}{} (too small)", text.empty() ? "" : ", ", fmt::join(small, ", "));
    return note(text + " on the calling thread");
  }

 private:
  void collect(StreamFacts& facts, const Launch& launch, uint32_t width) const {
    const Node& node = graph_.node(launch.node);
    if (node.kind != NodeKind::Operator) return;
    const OperatorCost& cost = costs_.cost(launch.node);
    bool beside = width > 1;
    facts.kernels = true;
    facts.beside |= beside;
    facts.guessed |= beside && !cost.known;
    facts.cube |= beside && cost.operator_class == OperatorClass::Cube;
    facts.communication |= own_stream(node) == OwnStream::Communication;
    facts.work += costs_.nanoseconds(launch.node, launch.threads);
  }

  std::optional<Diagnostic> fold_all() {
    bool guessed = std::any_of(facts_.begin(), facts_.end(),
                               [](const StreamFacts& facts) { return facts.guessed; });
    if (guessed) return std::nullopt;
    double streams = predict(costs_.profile().wait_ns);
    Schedule serial = serial_schedule(graph_);
    share_cores(graph_, serial, HappensBefore(graph_, serial), costs_.used_threads(0), caps_);
    const size_t lane = 0;
    double one = predict_makespan(graph_, serial, {&lane, 1}, costs_, 0);
    if (streams < kGain * one) return std::nullopt;
    std::string why = reason(one);
    std::vector<std::string> names = fold_where([](const StreamFacts&) { return true; });
    return note(
        fmt::format("{} on the calling thread ({}): predicted {:.1f} us on streams, {:.1f} us "
                    "on one thread with all cores",
                    fmt::join(names, ", "), why, streams / 1e3, one / 1e3));
  }

  /// Before anything is folded.
  std::string reason(double one) const {
    Partitioner work(graph_, costs_);
    if (work.longest_chain() >= kGain * work.total()) return "serial";
    if (predict(0) < kGain * one) return "too small";
    bool cube = std::any_of(facts_.begin(), facts_.end(),
                            [](const StreamFacts& facts) { return facts.cube; });
    return cube ? "saturated" : "vector only";
  }

  std::vector<std::string> fold_small() {
    if (facts_[0].guessed) return {};
    double limit = costs_.profile().wait_ns;
    std::vector<bool> before = folded();
    double longest = predict(costs_.profile().wait_ns);
    std::vector<std::string> names =
        fold_where([&](const StreamFacts& facts) { return !facts.guessed && facts.work < limit; });
    if (names.empty() || predict(costs_.profile().wait_ns) <= longest) return names;
    for (size_t s = 0; s < before.size(); ++s) schedule_.streams[s].folded = before[s];
    return {};
  }

  template <class Which>
  std::vector<std::string> fold_where(Which which) {
    std::vector<std::string> names;
    for (size_t s = 1; s < facts_.size(); ++s) {
      StreamProgram& program = schedule_.streams[s];
      if (program.folded || !which(facts_[s])) continue;
      program.folded = true;
      names.push_back(describe(program.stream));
    }
    return names;
  }

  std::vector<bool> folded() const {
    std::vector<bool> marks;
    for (const StreamProgram& program : schedule_.streams) marks.push_back(program.folded);
    return marks;
  }

  double predict(double wait_ns) const {
    std::vector<size_t> lanes(facts_.size());
    for (size_t s = 0; s < lanes.size(); ++s) lanes[s] = schedule_.streams[s].folded ? 0 : s;
    return predict_makespan(graph_, schedule_, lanes, costs_, wait_ns);
  }

  static Diagnostic note(const std::string& text) {
    return {Severity::Note, "fold", "fold: " + text, "", {}};
  }

  const Graph& graph_;
  Schedule& schedule_;
  const CostModel& costs_;
  const std::vector<int>& caps_;
  std::vector<StreamFacts> facts_;  // by StreamId
};

}  // namespace

std::optional<Diagnostic> fold_streams(const Graph& graph, Schedule& schedule,
                                       const HappensBefore& order, const CostModel& costs,
                                       const std::vector<int>& caps) {
  if (schedule.streams.size() < 2) return std::nullopt;
  return Folder(graph, schedule, order, costs, caps).run();
}

}  // namespace anabranch::passes
