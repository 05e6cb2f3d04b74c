#include "anabranch/passes/place_on_cores.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "anabranch/analysis/happens_before.h"
#include "anabranch/ir/communication.h"
#include "anabranch/passes/dependencies.h"
#include "anabranch/passes/memory_plan.h"
#include "anabranch/passes/passes.h"
#include "anabranch/passes/super_kernel.h"
#include "anabranch/passes/thread_sensitive.h"

namespace anabranch::passes {
namespace {

constexpr size_t kMostLaunches = 20000;
constexpr double kWorthAll = 0.9;    // of the narrow time: all cores must give that much
constexpr double kLongEnough = 2e4;  // ns: shorter operators are not made wide for want of company

/// An operator of torch's libraries or of the reference kernels ("ref.", or no library) waits
/// for nothing but its operands. Others may wait for what another stream does.
bool only_computes(const Node& node) {
  std::string_view op = node.op;
  bool known = op.starts_with("aten.") || op.starts_with("prims.") || op.starts_with("ref.") ||
               op.find('.') == op.npos;
  return known && works_alone(node);
}

/// The operators in program order with everything that placing them needs.
struct Problem {
  const Graph& graph;
  const Schedule& logical;
  const OperatorTimes& times;
  const std::vector<int>& caps;
  double cross_ns;
  std::vector<NodeId> nodes;                  // in program order
  std::vector<std::vector<uint32_t>> before;  // by position: who must complete first
  std::vector<std::vector<uint32_t>> after;
  std::vector<bool> sensitive;

  Problem(const Graph& g, const Schedule& s, const OperatorTimes& t, const std::vector<int>& c,
          double cross)
      : graph(g), logical(s), times(t), caps(c), cross_ns(cross) {
    std::vector<uint32_t> position(g.nodes.size(), 0);
    for (size_t i = 0; i < g.nodes.size(); ++i) {
      if (!g.nodes[i].launches()) continue;
      position[i] = static_cast<uint32_t>(nodes.size());
      nodes.push_back(NodeId(i));
      sensitive.push_back(g.nodes[i].kind == NodeKind::Operator &&
                          is_thread_sensitive(g, g.nodes[i]));
    }
    before.resize(nodes.size());
    after.resize(nodes.size());
    Dependencies dependencies(g);
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      for (const Dependency& dependency : dependencies.of(nodes[i]))
        before[i].push_back(position[dependency.from.index()]);
    }
    for (const StreamProgram& program : s.streams) {
      const Launch* last = nullptr;
      for (const Command& command : program.commands) {
        const auto* launch = std::get_if<Launch>(&command);
        if (!launch) continue;
        if (last) before[position[launch->node.index()]].push_back(position[last->node.index()]);
        last = launch;
      }
    }
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      std::sort(before[i].begin(), before[i].end());
      before[i].erase(std::unique(before[i].begin(), before[i].end()), before[i].end());
      for (uint32_t from : before[i]) after[from].push_back(i);
    }
  }

  int cap(uint32_t i) const {
    int cap = caps.empty() ? 0 : caps[nodes[i].index()];
    return cap > 0 ? cap : std::numeric_limits<int>::max();
  }
  OperatorTimes::Estimate time(uint32_t i, int cores) const {
    if (sensitive[i]) return {times.times[nodes[i].index()].all, false};
    return times.with(nodes[i], std::min(cores, cap(i)));
  }
};

struct Placed {
  size_t lane = 0;
  double begin = 0, end = 0;
};

/// List scheduling on lanes of `each` cores, with given operators wide.
class LaneScheduler {
 public:
  LaneScheduler(const Problem& problem, size_t lanes, int each, const std::vector<bool>& wide)
      : problem_(problem),
        wide_(wide),
        duration_(problem.nodes.size()),
        rank_(problem.nodes.size(), 0),
        missing_(problem.nodes.size()),
        placed_(problem.nodes.size()),
        free_(lanes, problem.cross_ns) {
    free_[0] = 0;
    for (uint32_t i = 0; i < duration_.size(); ++i) {
      duration_[i] = problem.time(i, wide[i] ? problem.times.cores : each).ns;
      missing_[i] = problem.before[i].size();
    }
    for (uint32_t i = static_cast<uint32_t>(rank_.size()); i-- > 0;) {
      for (uint32_t next : problem.after[i]) rank_[i] = std::max(rank_[i], rank_[next]);
      rank_[i] += duration_[i];
    }
    for (uint32_t i = 0; i < missing_.size(); ++i) {
      if (missing_[i] == 0) offer(i);
    }
  }

  void run() {
    while (!ready_.empty()) {
      size_t narrow = best_narrow(), wide = best_wide();
      bool take_wide = wide < ready_.size();
      if (take_wide && narrow < ready_.size()) {
        const Offer& n = ready_[narrow];
        bool fits = n.begin + duration_[n.index] <= start_of_wide(ready_[wide]);
        take_wide = rank_[ready_[wide].index] >= rank_[n.index] && !fits;
      }
      place(take_wide ? wide : narrow);
    }
  }

  /// The order in which operators were placed, which every lane keeps.
  const std::vector<uint32_t>& order() const { return order_; }
  const Placed& placed(uint32_t i) const { return placed_[i]; }
  double end() const {
    double end = 0;
    for (uint32_t i : order_)
      end = std::max(end, placed_[i].end + (placed_[i].lane > 0 ? problem_.cross_ns : 0));
    return end;
  }

 private:
  struct Offer {
    uint32_t index = 0;
    std::vector<double> data;  // by lane: when its operands are there
    size_t lane = 0;           // where it could begin first, and when
    double begin = 0;
  };

  void offer(uint32_t i) {
    Offer offer{i, std::vector<double>(free_.size(), 0)};
    for (uint32_t from : problem_.before[i]) {
      for (size_t lane = 0; lane < free_.size(); ++lane) {
        bool here = wide_[from] ? lane == 0 : placed_[from].lane == lane;
        double there = placed_[from].end + (here ? 0 : problem_.cross_ns);
        offer.data[lane] = std::max(offer.data[lane], there);
      }
    }
    ready_.push_back(std::move(offer));
  }

  size_t best_narrow() {
    size_t best = ready_.size();
    for (size_t r = 0; r < ready_.size(); ++r) {
      Offer& offer = ready_[r];
      if (wide_[offer.index]) continue;
      offer.begin = std::numeric_limits<double>::infinity();
      for (size_t lane = 0; lane < free_.size(); ++lane) {
        double begin = std::max(free_[lane], offer.data[lane]);
        if (begin < offer.begin) offer.begin = begin, offer.lane = lane;
      }
      if (best == ready_.size() || earlier(offer, ready_[best])) best = r;
    }
    return best;
  }

  bool earlier(const Offer& a, const Offer& b) const {
    if (a.begin != b.begin) return a.begin < b.begin;
    if (rank_[a.index] != rank_[b.index]) return rank_[a.index] > rank_[b.index];
    return a.index < b.index;
  }

  size_t best_wide() const {
    size_t best = ready_.size();
    for (size_t r = 0; r < ready_.size(); ++r) {
      uint32_t i = ready_[r].index;
      if (!wide_[i]) continue;
      if (best == ready_.size() || rank_[i] > rank_[ready_[best].index] ||
          (rank_[i] == rank_[ready_[best].index] && i < ready_[best].index))
        best = r;
    }
    return best;
  }

  double start_of_wide(const Offer& offer) const {
    double begin = offer.data[0];
    for (size_t lane = 0; lane < free_.size(); ++lane)
      begin = std::max(begin, free_[lane] + (lane > 0 ? problem_.cross_ns : 0));
    return begin;
  }

  void place(size_t r) {
    Offer chosen = std::move(ready_[r]);
    if (r + 1 < ready_.size()) ready_[r] = std::move(ready_.back());
    ready_.pop_back();
    uint32_t i = chosen.index;
    if (wide_[i]) {
      chosen.lane = 0;
      chosen.begin = start_of_wide(chosen);
    }
    placed_[i] = {chosen.lane, chosen.begin, chosen.begin + duration_[i]};
    free_[chosen.lane] = placed_[i].end;
    for (size_t lane = 1; wide_[i] && lane < free_.size(); ++lane)
      free_[lane] = placed_[i].end + problem_.cross_ns;
    order_.push_back(i);
    for (uint32_t next : problem_.after[i]) {
      if (--missing_[next] == 0) offer(next);
    }
  }

  const Problem& problem_;
  const std::vector<bool>& wide_;
  std::vector<double> duration_, rank_;  // rank: to the end of the longest chain
  std::vector<size_t> missing_;          // predecessors that are not placed
  std::vector<Placed> placed_;
  std::vector<double> free_;  // by lane
  std::vector<Offer> ready_;
  std::vector<uint32_t> order_;
};

/// Command lists for lanes, with the fewest waits: those that the clocks of the others do not give.
class LaneBuilder {
 public:
  LaneBuilder(const Problem& problem, const LaneScheduler& lanes, size_t count,
              const std::vector<bool>& wide)
      : problem_(problem),
        lanes_(lanes),
        wide_(wide),
        clock_(count, std::vector<uint32_t>(count, 0)),
        last_(count, kNone),
        waits_(problem.nodes.size()),
        recorded_(problem.nodes.size(), false),
        known_(problem.nodes.size()),
        place_(problem.nodes.size(), 0) {}

  Schedule build(int each) {
    for (uint32_t i : lanes_.order()) add(i);
    Schedule schedule;
    schedule.lanes = {problem_.times.cores, each};
    for (size_t lane = 0; lane < clock_.size(); ++lane)
      schedule.streams.push_back(
          {{lane == 0 ? "" : fmt::format("core {}", lane * static_cast<size_t>(each))}, {}});
    std::vector<EventId> events(problem_.nodes.size());
    for (uint32_t i : lanes_.order()) {
      std::vector<Command>& commands = schedule.streams[lanes_.placed(i).lane].commands;
      for (uint32_t from : waits_[i]) commands.push_back(Wait{events[from]});
      commands.push_back(launch_of(i, each));
      if (!recorded_[i]) continue;
      events[i] = EventId(schedule.event_count++);
      commands.push_back(Record{events[i]});
    }
    return schedule;
  }

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  Launch launch_of(uint32_t i, int each) const {
    const Node& node = problem_.graph.node(problem_.nodes[i]);
    Launch launch{problem_.nodes[i]};
    if (node.kind != NodeKind::Operator) return {launch.node, 1};
    launch.threads = wide_[i] ? 0 : std::min(each, problem_.cap(i));
    launch.split = problem_.time(i, wide_[i] ? problem_.times.cores : each).split;
    return launch;
  }

  void add(uint32_t i) {
    size_t lane = lanes_.placed(i).lane;
    std::vector<uint32_t> needs = problem_.before[i];
    for (size_t other = 0; other < last_.size(); ++other) {
      if ((wide_[i] || other == lane) && last_[other] != kNone) needs.push_back(last_[other]);
    }
    // The latest first: what its clock covers needs no event of its own.
    std::sort(needs.begin(), needs.end(),
              [&](uint32_t a, uint32_t b) { return place_[a] > place_[b]; });
    std::vector<uint32_t>& clock = clock_[lane];
    for (uint32_t from : needs) {
      size_t theirs = lanes_.placed(from).lane;
      if (theirs == lane || clock[theirs] >= known_[from][theirs]) continue;
      for (size_t k = 0; k < clock.size(); ++k) clock[k] = std::max(clock[k], known_[from][k]);
      waits_[i].push_back(from);
      recorded_[from] = true;
    }
    ++clock[lane];
    known_[i] = clock;
    place_[i] = ++count_;
    for (size_t other = 0; other < last_.size(); ++other) {
      if (wide_[i] || other == lane) last_[other] = i;
    }
  }

  const Problem& problem_;
  const LaneScheduler& lanes_;
  const std::vector<bool>& wide_;
  std::vector<std::vector<uint32_t>> clock_;  // by lane: launches of each lane known complete
  std::vector<uint32_t> last_;                // by lane: what held its cores last
  std::vector<std::vector<uint32_t>> waits_;  // by operator
  std::vector<bool> recorded_;
  std::vector<std::vector<uint32_t>> known_;  // by operator: the clock when it has completed
  std::vector<uint32_t> place_;               // by operator, from 1 in the order of placing
  uint32_t count_ = 0;
};

void plan_memory_like(const Problem& problem, Schedule& schedule) {
  HappensBefore order(problem.graph, schedule);
  plan_buffers(problem.graph, schedule, order);
  copy_placements(problem.logical, schedule);
}

/// Plans with so many lanes, for different choices of what is wide.
class Planner {
 public:
  Planner(const Problem& problem, size_t lanes)
      : problem_(problem),
        lanes_(lanes),
        each_(std::max(1, problem.times.cores / static_cast<int>(lanes))) {}

  void run(std::vector<CorePlan>& plans) {
    for (double share : {2.0, 0.9, 0.75, 0.6, 0.4}) {
      std::vector<bool> wide(problem_.nodes.size());
      for (uint32_t i = 0; i < wide.size(); ++i)
        wide[i] = problem_.sensitive[i] || uses_cores(i, share);
      std::vector<bool> alone = attempt(wide, plans);
      if (alone != wide) attempt(alone, plans);
    }
  }

 private:
  bool gains(uint32_t i) const {
    double narrow = problem_.time(i, each_).ns, all = problem_.time(i, problem_.times.cores).ns;
    return problem_.cap(i) >= problem_.times.cores && all < kWorthAll * narrow;
  }

  bool uses_cores(uint32_t i, double share) const {
    double all = problem_.time(i, problem_.times.cores).ns * problem_.times.cores;
    return gains(i) && problem_.time(i, each_).ns * each_ >= share * all;
  }

  /// Adds the plan unless it was tried; returns the choice that also has wide what ran beside
  /// nothing.
  std::vector<bool> attempt(const std::vector<bool>& wide, std::vector<CorePlan>& plans) {
    if (!tried_.insert(wide).second) return wide;
    LaneScheduler scheduler(problem_, lanes_, each_, wide);
    scheduler.run();
    bool several = std::any_of(scheduler.order().begin(), scheduler.order().end(),
                               [&](uint32_t i) { return scheduler.placed(i).lane > 0; });
    if (several) {
      CorePlan plan;
      plan.schedule = LaneBuilder(problem_, scheduler, lanes_, wide).build(each_);
      plan.ns = scheduler.end();
      for (uint32_t i = 0; i < wide.size(); ++i) {
        plan.wide += wide[i];
        plan.split += problem_.time(i, wide[i] ? problem_.times.cores : each_).split;
      }
      plans.push_back(std::move(plan));
    }
    return with_lonely(scheduler, wide);
  }

  std::vector<bool> with_lonely(const LaneScheduler& scheduler, std::vector<bool> wide) const {
    std::vector<std::vector<uint32_t>> on(lanes_);
    for (uint32_t i : scheduler.order()) on[scheduler.placed(i).lane].push_back(i);
    for (uint32_t i = 0; i < wide.size(); ++i) {
      const Placed& own = scheduler.placed(i);
      if (wide[i] || own.end - own.begin < kLongEnough || !gains(i)) continue;
      double beside = 0;
      for (size_t lane = 0; lane < lanes_; ++lane) {
        if (lane != own.lane) beside += overlap(scheduler, on[lane], own);
      }
      wide[i] = beside < 0.1 * (own.end - own.begin);
    }
    return wide;
  }

  static double overlap(const LaneScheduler& scheduler, const std::vector<uint32_t>& lane,
                        const Placed& own) {
    auto ends_later = [&](uint32_t i, double begin) { return scheduler.placed(i).end <= begin; };
    auto it = std::lower_bound(lane.begin(), lane.end(), own.begin, ends_later);
    double sum = 0;
    for (; it != lane.end() && scheduler.placed(*it).begin < own.end; ++it) {
      const Placed& other = scheduler.placed(*it);
      sum += std::min(own.end, other.end) - std::max(own.begin, other.begin);
    }
    return sum;
  }

  const Problem& problem_;
  size_t lanes_;
  int each_;
  std::set<std::vector<bool>> tried_;
};

size_t streams_in_use(const Schedule& logical) {
  return static_cast<size_t>(
      std::count_if(logical.streams.begin(), logical.streams.end(),
                    [](const StreamProgram& program) { return !program.commands.empty(); }));
}

}  // namespace

bool may_place_on_cores(const Graph& graph, const Schedule& logical) {
  size_t launches = 0;
  for (const Node& node : graph.nodes) {
    if (!node.launches()) continue;
    ++launches;
    if (node.kind == NodeKind::Operator && !only_computes(node)) return false;
    if (super_kernel_of(node)) return false;
  }
  for (const Value& value : graph.values) {
    const TensorType* type = value.tensor();
    if (type && std::any_of(type->sizes.begin(), type->sizes.end(),
                            [](const Expr& size) { return !size.is_constant(); }))
      return false;
  }
  bool ranked = std::any_of(logical.streams.begin(), logical.streams.end(),
                            [&](const StreamProgram& program) {
                              return program.stream.priority != logical.streams[0].stream.priority;
                            });
  return !ranked && launches <= kMostLaunches;
}

CorePlan one_lane(const Graph& graph, const Schedule& logical, const OperatorTimes& times,
                  const std::vector<int>& caps) {
  Problem problem(graph, logical, times, caps, 0);
  CorePlan plan;
  plan.schedule = serial_schedule(graph);
  uint32_t i = 0;
  for (Command& command : plan.schedule.streams[0].commands) {
    auto& launch = std::get<Launch>(command);
    OperatorTimes::Estimate all = problem.time(i, times.cores);
    if (problem.cap(i) < times.cores) launch.threads = problem.cap(i);
    launch.split = all.split;
    plan.split += all.split;
    plan.ns += all.ns;
    ++i;
  }
  plan.wide = plan.schedule.streams[0].commands.size();
  plan_memory_like(problem, plan.schedule);
  return plan;
}

std::vector<CorePlan> place_on_cores(const Graph& graph, const Schedule& logical,
                                     const OperatorTimes& times, const std::vector<int>& caps,
                                     double cross_ns) {
  size_t most = std::min(streams_in_use(logical), static_cast<size_t>(std::max(1, times.cores)));
  if (most < 2) return {};
  Problem problem(graph, logical, times, caps, cross_ns);
  std::vector<CorePlan> plans;
  for (size_t lanes = 2; lanes < most; lanes *= 2) Planner(problem, lanes).run(plans);
  Planner(problem, most).run(plans);
  std::sort(plans.begin(), plans.end(),
            [](const CorePlan& a, const CorePlan& b) { return a.ns < b.ns; });
  for (CorePlan& plan : plans) plan_memory_like(problem, plan.schedule);
  return plans;
}

}  // namespace anabranch::passes
