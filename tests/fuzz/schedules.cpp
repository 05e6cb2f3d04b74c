// The verifier against schedules that are broken in one place.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>

#include "anabranch/analysis/happens_before.h"
#include "anabranch/ir/text.h"
#include "anabranch/ir/uses.h"
#include "anabranch/passes/pipeline.h"
#include "anabranch/schedule/text.h"
#include "anabranch/verify/verify.h"
#include "tests/fuzz/checker.h"

namespace anabranch::fuzz {
namespace {

using Problem = std::optional<std::string>;

/// Happens-before by walking the command lists: slow, plain, and shares no code with the verifier.
class Walk {
 public:
  explicit Walk(const Schedule& schedule) : schedule_(schedule) {
    waits_.resize(schedule.event_count);
    for (size_t s = 0; s < schedule.streams.size(); ++s) {
      const std::vector<Command>& commands = schedule.streams[s].commands;
      for (size_t k = 0; k < commands.size(); ++k) {
        if (const auto* launch = std::get_if<Launch>(&commands[k])) places_[launch->node] = {s, k};
        if (const auto* wait = std::get_if<Wait>(&commands[k]))
          waits_[wait->event.index()].emplace_back(s, k);
      }
    }
  }

  bool before(NodeId a, NodeId b) const {
    // By stream: the first command that `a` happens before.
    std::vector<size_t> reached(schedule_.streams.size(), SIZE_MAX);
    auto [stream, index] = places_.at(a);
    std::vector<std::pair<size_t, size_t>> work{{stream, index + 1}};
    while (!work.empty()) {
      auto [s, from] = work.back();
      work.pop_back();
      size_t end = std::min(reached[s], schedule_.streams[s].commands.size());
      reached[s] = std::min(reached[s], from);
      for (size_t k = from; k < end; ++k) {
        const auto* record = std::get_if<Record>(&schedule_.streams[s].commands[k]);
        if (!record) continue;
        for (auto [waiter, at] : waits_[record->event.index()]) {
          if (at < reached[waiter]) work.emplace_back(waiter, at);
        }
      }
    }
    auto [other, place] = places_.at(b);
    return reached[other] <= place;
  }

 private:
  const Schedule& schedule_;
  std::map<NodeId, std::pair<size_t, size_t>> places_;
  std::vector<std::vector<std::pair<size_t, size_t>>> waits_;  // by event
};

class Breaker {
 public:
  Breaker(const Graph& graph, const CheckOptions& options)
      : compiled_(passes::compile(graph, {})),
        graph_(compiled_.graph),
        random_(options.seed),
        limit_(options.breakages == 0 ? SIZE_MAX : options.breakages) {}

  Problem run() {
    using Step = Problem (Breaker::*)();
    for (Step step : {&Breaker::remove_commands, &Breaker::remove_edges, &Breaker::break_lives,
                      &Breaker::break_places}) {
      if (Problem problem = (this->*step)()) return problem;
    }
    return {};
  }

 private:
  size_t pick(size_t below) { return random_() % below; }

  /// Up to limit_ of the numbers below `count`, in random order.
  std::vector<size_t> some(size_t count) {
    std::vector<size_t> all(count);
    for (size_t i = 0; i < count; ++i) all[i] = i;
    std::shuffle(all.begin(), all.end(), random_);
    if (all.size() > limit_) all.resize(limit_);
    return all;
  }

  Problem expect(bool legal, const Schedule& schedule, const std::string& what) {
    std::vector<Diagnostic> findings = verify::check_schedule(graph_, schedule);
    if (verify::has_errors(findings) != legal) return {};
    std::string text =
        fmt::format("the verifier {} a schedule: {}\n", legal ? "refuses" : "accepts", what);
    for (const Diagnostic& finding : findings) text += to_string(finding) + "\n";
    return text + print_graph(graph_) + print_schedule(graph_, schedule);
  }

  /// Every wait is needed, since the waits are a transitive reduction; so are records and launches.
  Problem remove_commands() {
    std::vector<std::pair<size_t, size_t>> waits, others;
    for (size_t s = 0; s < compiled_.schedule.streams.size(); ++s) {
      const std::vector<Command>& commands = compiled_.schedule.streams[s].commands;
      for (size_t k = 0; k < commands.size(); ++k)
        (std::holds_alternative<Wait>(commands[k]) ? waits : others).emplace_back(s, k);
    }
    std::shuffle(others.begin(), others.end(), random_);
    others.resize(std::min<size_t>(others.size(), 2));
    for (const auto* places : {&waits, &others}) {
      for (size_t i : some(places->size())) {
        auto [s, k] = (*places)[i];
        Schedule schedule = compiled_.schedule;
        std::vector<Command>& commands = schedule.streams[s].commands;
        commands.erase(commands.begin() + static_cast<ptrdiff_t>(k));
        if (Problem problem = expect(false, schedule,
                                     fmt::format("command {} of {} is missing", k,
                                                 describe(schedule.streams[s].stream))))
          return problem;
      }
    }
    return {};
  }

  /// A schedule made without one order is legal exactly if the rest gives that order.
  Problem remove_edges() {
    std::vector<std::pair<size_t, size_t>> edges;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!graph_.nodes[i].launches()) continue;
      for (size_t k = 0; k < graph_.nodes[i].control.size(); ++k) {
        if (graph_.node(graph_.nodes[i].control[k].from).launches()) edges.emplace_back(i, k);
      }
    }
    for (size_t e : some(edges.size())) {
      auto [i, k] = edges[e];
      Graph graph = graph_;
      NodeId from = graph.nodes[i].control[k].from;
      graph.nodes[i].control.erase(graph.nodes[i].control.begin() + static_cast<ptrdiff_t>(k));
      Schedule schedule = passes::place_events(graph, nullptr);
      bool legal = Walk(schedule).before(from, NodeId(i));
      if (legal) passes::plan_buffers(graph_, schedule, HappensBefore(graph_, schedule));
      Problem problem = expect(legal, schedule,
                               fmt::format("placed without the order {} -> {}",
                                           graph_.node(from).name, graph_.nodes[i].name));
      if (problem) return problem;
    }
    return {};
  }

  /// A release is a last use, so the buffer dies too early without it; and nothing before the
  /// operator that makes a buffer can be its end, nor a last use its beginning.
  Problem break_lives() {
    for (size_t i : some(compiled_.schedule.buffers.size())) {
      const BufferLife& life = compiled_.schedule.buffers[i];
      std::string name = fmt::format("b{}", life.buffer.index());
      Schedule schedule = compiled_.schedule;
      schedule.buffers[i].releases.erase(schedule.buffers[i].releases.begin() +
                                         static_cast<ptrdiff_t>(pick(life.releases.size())));
      if (Problem problem = expect(false, schedule, name + " lacks a release")) return problem;
      if (life.releases.size() == 1 && life.releases[0] == life.acquire) continue;
      schedule = compiled_.schedule;
      schedule.buffers[i].releases = {life.acquire};
      if (Problem problem = expect(false, schedule, name + " ends where it begins")) return problem;
      schedule = compiled_.schedule;
      schedule.buffers[i].acquire = life.releases[pick(life.releases.size())];
      if (Problem problem = expect(false, schedule, name + " begins at its end")) return problem;
    }
    return {};
  }

  /// Bytes that the graph's windows reach; nothing when a size is symbolic.
  std::optional<int64_t> bytes(BufferId buffer) const {
    int64_t end = 0;
    for (const Value& value : graph_.values) {
      const TensorType* type = value.tensor();
      if (!type || type->buffer != buffer) continue;
      if (!type->is_static()) return {};
      end = std::max(end, byte_range(*type).end);
    }
    return end;
  }

  Problem break_places() {
    Schedule apart = compiled_.schedule;
    std::vector<size_t> placed;
    int64_t arena = 0;
    for (size_t i = 0; i < apart.buffers.size(); ++i) {
      std::optional<int64_t> size = bytes(apart.buffers[i].buffer);
      if (!size || *size == 0) continue;
      apart.buffers[i].placement = Placement{arena, *size};
      arena += *size;
      placed.push_back(i);
    }
    if (Problem problem = expect(true, apart, "every buffer has a place of its own"))
      return problem;
    Walk walk(apart);
    for (size_t k : some(placed.size())) {
      Schedule schedule = apart;
      BufferLife& life = schedule.buffers[placed[k]];
      std::string name = fmt::format("b{}", life.buffer.index());
      int64_t size = life.placement->size;
      life.placement->size = size - 1;
      if (Problem problem = expect(false, schedule, name + " has a byte too few")) return problem;
      life.placement = Placement{-1, size};
      if (Problem problem = expect(false, schedule, name + " is before the arena")) return problem;
      const BufferLife& other = apart.buffers[placed[pick(placed.size())]];
      if (other.buffer == life.buffer) continue;
      // The last byte of the other one: legal exactly if one ends before the other begins.
      life.placement->offset = other.placement->offset + other.placement->size - 1;
      Problem problem = expect_sharing(schedule, walk, placed[k]);
      if (problem) return problem;
    }
    return {};
  }

  Problem expect_sharing(const Schedule& schedule, const Walk& walk, size_t moved) {
    const BufferLife& life = schedule.buffers[moved];
    auto ends_before = [&](const BufferLife& a, const BufferLife& b) {
      return std::all_of(a.releases.begin(), a.releases.end(),
                         [&](NodeId release) { return walk.before(release, b.acquire); });
    };
    bool legal = true;
    for (const BufferLife& other : schedule.buffers) {
      if (&other == &life || !other.placement) continue;
      bool shares = other.placement->offset < life.placement->offset + life.placement->size &&
                    life.placement->offset < other.placement->offset + other.placement->size;
      legal = legal && (!shares || ends_before(other, life) || ends_before(life, other));
    }
    return expect(legal, schedule, fmt::format("b{} was moved", life.buffer.index()));
  }

  passes::Compiled compiled_;
  const Graph& graph_;
  std::mt19937_64 random_;
  size_t limit_;
};

}  // namespace

std::optional<std::string> check_schedules(const Graph& graph, const CheckOptions& options) {
  return Breaker(graph, options).run();
}

}  // namespace anabranch::fuzz
