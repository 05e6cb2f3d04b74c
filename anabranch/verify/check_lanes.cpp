// Schedules whose streams are lanes of a machine: who holds which cores when, and that the labels'
// own order is kept.
#include <fmt/format.h>

#include <algorithm>

#include "anabranch/verify/hazards.h"

namespace anabranch::verify {
namespace {

class LaneChecker {
 public:
  LaneChecker(const Graph& graph, const Schedule& schedule, const Replay& replay,
              std::vector<Diagnostic>& findings)
      : graph_(graph), schedule_(schedule), replay_(replay), findings_(findings) {
    for (const StreamProgram& program : schedule.streams) {
      operators_.emplace_back();
      for (const Command& command : program.commands) {
        const auto* launch = std::get_if<Launch>(&command);
        if (launch && graph.node(launch->node).kind == NodeKind::Operator)
          operators_.back().push_back(launch->node);
      }
    }
  }

  void run() {
    const Lanes& lanes = schedule_.lanes;
    if (lanes.each < 1 ||
        operators_.size() * static_cast<size_t>(lanes.each) > static_cast<size_t>(lanes.cores)) {
      report("lanes-many",
             fmt::format("{} lanes of {} cores each do not fit on {} cores", operators_.size(),
                         lanes.each, lanes.cores),
             "give every lane at least one core of its own", {});
    }
    for (size_t lane = 0; lane < schedule_.streams.size(); ++lane) check_cores(lane);
    check_labels();
  }

 private:
  void check_cores(size_t lane) {
    for (const Command& command : schedule_.streams[lane].commands) {
      const auto* launch = std::get_if<Launch>(&command);
      if (!launch || graph_.node(launch->node).kind != NodeKind::Operator) continue;
      if (launch->threads >= 1 && launch->threads <= schedule_.lanes.each) continue;
      for (size_t other = 0; other < operators_.size(); ++other) {
        if (other != lane) check_alone(launch->node, operators_[other]);
      }
    }
  }

  /// Of a lane's operators some first ones come before `wide`; the next must come after it.
  void check_alone(NodeId wide, const std::vector<NodeId>& lane) {
    auto next = std::partition_point(lane.begin(), lane.end(),
                                     [&](NodeId node) { return replay_.before(node, wide); });
    if (next == lane.end() || replay_.before(wide, *next)) return;
    const Node &holder = graph_.node(wide), &beside = graph_.node(*next);
    report("cores-shared",
           fmt::format("{} holds all cores, and {} can run at the same moment", describe(holder),
                       describe(beside)),
           "order the two, or give the first no more threads than its lane has",
           {holder.source, beside.source});
  }

  void check_labels() {
    std::vector<NodeId> last(graph_.streams.size());
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (!node.launches() || node.stream.index() >= last.size()) continue;
      NodeId& before = last[node.stream.index()];
      if (before.valid() && !replay_.before(before, NodeId(i))) {
        report("stream-order",
               fmt::format("{} and {} of {} are not ordered", describe(graph_.node(before)),
                           describe(node), describe(graph_.streams[node.stream.index()])),
               "keep the order of each stream, whatever the lanes",
               {graph_.node(before).source, node.source});
      }
      before = NodeId(i);
    }
  }

  void report(const char* rule, std::string message, std::string fix,
              std::vector<SourceLocation> where) {
    std::erase_if(where, [](const SourceLocation& place) { return !place.known(); });
    findings_.push_back(
        {Severity::Error, rule, std::move(message), std::move(fix), std::move(where)});
  }

  const Graph& graph_;
  const Schedule& schedule_;
  const Replay& replay_;
  std::vector<Diagnostic>& findings_;
  std::vector<std::vector<NodeId>> operators_;  // by lane
};

}  // namespace

void check_lanes(const Graph& graph, const Schedule& schedule, const Replay& replay,
                 std::vector<Diagnostic>& findings) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    // Reported as launch-missing; without it there is nothing to compare.
    if (graph.nodes[i].launches() && !replay.launched(NodeId(i))) return;
  }
  LaneChecker(graph, schedule, replay, findings).run();
}

}  // namespace anabranch::verify
