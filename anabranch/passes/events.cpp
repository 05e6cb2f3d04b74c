// Decides which required orders across streams need an event.
//
// Guarantees: the waits are exactly the transitive reduction of stream order ∪ required edges. The
// reduction of an acyclic graph is unique, so no correct set of waits is smaller.
//
// Method: in program order each operator gets a vector clock (per stream, how many launches are
// known complete). Of the required predecessors the latest is taken first: what its clock already
// covers needs no event of its own.
#include <algorithm>

#include "anabranch/passes/dependencies.h"
#include "anabranch/passes/passes.h"
#include "anabranch/passes/schedule_builder.h"

namespace anabranch::passes {
namespace {

class Placement {
 public:
  Placement(const Graph& graph, EventReport* report)
      : graph_(graph),
        dependencies_(graph),
        report_(report),
        places_(graph.nodes.size()),
        clock_of_(graph.streams.size(), 0),
        launched_(graph.streams.size(), 0),
        waits_(graph.nodes.size()) {
    clocks_.emplace_back(graph.streams.size(), 0);
    if (report_) uses_.emplace_back(graph);
  }

  std::vector<std::vector<NodeId>> run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (graph_.nodes[i].launches()) place(NodeId(i));
    }
    return std::move(waits_);
  }

 private:
  struct Place {
    uint32_t position = 0;  // 1-based, in its stream
    uint32_t clock = 0;
  };

  void place(NodeId id) {
    size_t stream = graph_.node(id).stream.index();
    std::vector<uint32_t> clock;  // stays empty while nothing has to be waited for
    auto before = dependencies_.of(id);
    for (size_t k = before.size(); k-- > 0;) {
      NodeId from = before[k].from;
      size_t other = graph_.node(from).stream.index();
      if (other == stream) continue;
      const std::vector<uint32_t>& known = clock.empty() ? clocks_[clock_of_[stream]] : clock;
      bool covered = known[other] >= places_[from.index()].position;
      report(covered, id, before[k]);
      if (covered) continue;
      if (clock.empty()) clock = clocks_[clock_of_[stream]];
      const std::vector<uint32_t>& theirs = clocks_[places_[from.index()].clock];
      for (size_t s = 0; s < clock.size(); ++s) clock[s] = std::max(clock[s], theirs[s]);
      clock[other] = places_[from.index()].position;
      waits_[id.index()].push_back(from);
    }
    if (!clock.empty()) {
      clock_of_[stream] = static_cast<uint32_t>(clocks_.size());
      clocks_.push_back(std::move(clock));
      std::reverse(waits_[id.index()].begin(), waits_[id.index()].end());
    }
    places_[id.index()] = {++launched_[stream], clock_of_[stream]};
  }

  void report(bool covered, NodeId to, const Dependency& dependency) {
    if (!report_) return;
    auto& edges = covered ? report_->redundant : report_->placed;
    edges.push_back({dependency.from, to, why(graph_, uses_.front(), to, dependency)});
  }

  const Graph& graph_;
  Dependencies dependencies_;
  EventReport* report_;
  std::vector<UseTable> uses_;  // one, when there is a report to explain
  std::vector<Place> places_;
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
