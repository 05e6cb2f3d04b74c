// Decides which required orders across streams need an event.
//
// Guarantees: the waits are exactly the transitive reduction of stream order ∪ required edges, over
// launch units (launch_units.h), which are single operators outside super_kernel scopes. The
// reduction of an acyclic graph is unique, so no correct set of waits is smaller. A unit's waits
// stand before its first launch, its record after its last.
//
// Method: each unit, in an order in which it comes after all that it depends on, gets a vector
// clock (per stream, how many launches are known complete). Of the required predecessors the latest
// is taken first: what its clock already covers needs no event of its own.
#include <algorithm>
#include <tuple>

#include "anabranch/passes/dependencies.h"
#include "anabranch/passes/launch_units.h"
#include "anabranch/passes/passes.h"
#include "anabranch/passes/schedule_builder.h"
#include "anabranch/passes/super_kernel.h"

namespace anabranch::passes {
namespace {

class Placement {
 public:
  Placement(const Graph& graph, EventReport* report)
      : graph_(graph),
        dependencies_(graph),
        units_(form_units(graph, dependencies_)),
        report_(report),
        clock_of_(graph.streams.size(), 0),
        launched_(graph.streams.size(), 0),
        waits_(graph.nodes.size()) {
    clocks_.emplace_back(graph.streams.size(), 0);
    places_.reserve(units_.units().size());
    if (report_) uses_.emplace_back(graph);
  }

  std::vector<std::vector<NodeId>> run() {
    for (const LaunchUnits::Unit& unit : units_.units()) {
      place(units_.operators(unit));
      if (report_) report_unit(unit);
    }
    return std::move(waits_);
  }

 private:
  struct Place {            // of a unit
    uint32_t position = 0;  // of its last launch, 1-based, in its stream
    uint32_t clock = 0;     // at its start
    NodeId last;
  };
  struct Need {  // a dependency on a unit of another stream
    uint32_t unit = 0;
    NodeId to;
    Dependency dependency;
  };

  void place(std::span<const NodeId> operators) {
    NodeId first = operators.front();
    size_t stream = graph_.node(first).stream.index();
    collect_needs(operators);
    std::vector<uint32_t> clock;  // stays empty while nothing has to be waited for
    for (const Need& need : needs_) {
      const Place& theirs = places_[need.unit];
      size_t other = graph_.node(theirs.last).stream.index();
      const std::vector<uint32_t>& known = clock.empty() ? clocks_[clock_of_[stream]] : clock;
      bool covered = known[other] >= theirs.position;
      report(covered, need);
      if (covered) continue;
      if (clock.empty()) clock = clocks_[clock_of_[stream]];
      const std::vector<uint32_t>& gained = clocks_[theirs.clock];
      for (size_t s = 0; s < clock.size(); ++s) clock[s] = std::max(clock[s], gained[s]);
      clock[other] = theirs.position;
      waits_[first.index()].push_back(theirs.last);
    }
    if (!clock.empty()) {
      clock_of_[stream] = static_cast<uint32_t>(clocks_.size());
      clocks_.push_back(std::move(clock));
      std::sort(waits_[first.index()].begin(), waits_[first.index()].end());
    }
    launched_[stream] += static_cast<uint32_t>(operators.size());
    places_.push_back({launched_[stream], clock_of_[stream], operators.back()});
  }

  /// Latest unit first.
  void collect_needs(std::span<const NodeId> operators) {
    needs_.clear();
    for (NodeId to : operators) {
      for (const Dependency& dependency : dependencies_.of(to)) {
        if (graph_.node(dependency.from).stream == graph_.node(to).stream) continue;
        needs_.push_back({units_.unit_of(dependency.from), to, dependency});
      }
    }
    std::sort(needs_.begin(), needs_.end(), [](const Need& a, const Need& b) {
      return std::tie(b.unit, b.dependency.from, b.to) < std::tie(a.unit, a.dependency.from, a.to);
    });
  }

  void report(bool covered, const Need& need) {
    if (!report_) return;
    auto& edges = covered ? report_->redundant : report_->placed;
    edges.push_back(
        {need.dependency.from, need.to, why(graph_, uses_.front(), need.to, need.dependency)});
  }

  void report_unit(const LaunchUnits::Unit& unit) {
    std::span<const NodeId> operators = units_.operators(unit);
    if (!super_kernel_of(graph_.node(operators.front()))) return;
    report_->units.push_back({{operators.begin(), operators.end()}, unit.held_by});
  }

  const Graph& graph_;
  Dependencies dependencies_;
  LaunchUnits units_;
  EventReport* report_;
  std::vector<UseTable> uses_;  // one, when there is a report to explain
  std::vector<Place> places_;   // by unit
  std::vector<Need> needs_;     // of the unit that is being placed
  std::vector<std::vector<uint32_t>> clocks_;
  std::vector<uint32_t> clock_of_, launched_;  // by stream
  std::vector<std::vector<NodeId>> waits_;     // by node: whom it waits for, in program order
};

}  // namespace

Schedule place_events(const Graph& graph, EventReport* report) {
  if (report) *report = {};
  return build_schedule(graph, Placement(graph, report).run());
}

}  // namespace anabranch::passes
