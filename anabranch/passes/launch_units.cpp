#include "anabranch/passes/launch_units.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <queue>
#include <utility>

#include "anabranch/passes/super_kernel.h"

namespace anabranch::passes {

/// Walks the streams as a device would that launches unit by unit, always with the operator that is
/// first in the program. A stream that meets an operator whose predecessor on another stream has
/// not completed sleeps; units complete as a whole. When all streams sleep, they wait for each
/// other in a circle of units. The operators themselves have no circle, so some unit of it holds,
/// before the operator at which it sleeps, the one that the stream before it in the circle waits
/// for: what stands before the sleeper becomes a unit of its own, and the walk goes on.
class UnitWalk {
 public:
  UnitWalk(const Graph& graph, const Dependencies& dependencies)
      : graph_(graph),
        dependencies_(dependencies),
        lanes_(graph.streams.size()),
        position_(graph.nodes.size(), 0),
        complete_(graph.nodes.size(), false),
        asleep_(graph.nodes.size()) {
    found_.unit_of_.resize(graph.nodes.size(), 0);
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      if (!graph.nodes[i].launches()) continue;
      Lane& lane = lanes_[graph.nodes[i].stream.index()];
      position_[i] = lane.launches.size();
      lane.launches.emplace_back(i);
      ++left_;
    }
  }

  LaunchUnits run() {
    for (size_t s = 0; s < lanes_.size(); ++s) {
      open(lanes_[s]);
      wake(s);
    }
    while (left_ > 0) {
      while (!awake_.empty()) {
        size_t stream = awake_.top().second;
        awake_.pop();
        advance(stream);
      }
      if (left_ > 0) split();
    }
    return std::move(found_);
  }

 private:
  struct Lane {
    std::vector<NodeId> launches;
    size_t begin = 0, cursor = 0, end = 0;  // of the current unit
    NodeId waits_for;
    NodeId held_by;
  };

  /// Begins the unit at the cursor: as far as the scope goes on.
  void open(Lane& lane) {
    lane.begin = lane.end = lane.cursor;
    if (lane.begin == lane.launches.size()) return;
    const std::string* scope = super_kernel_of(graph_.node(lane.launches[lane.end++]));
    while (scope && lane.end < lane.launches.size()) {
      const std::string* next = super_kernel_of(graph_.node(lane.launches[lane.end]));
      if (!next || *next != *scope) break;
      ++lane.end;
    }
  }

  void wake(size_t stream) {
    const Lane& lane = lanes_[stream];
    if (lane.cursor < lane.launches.size()) awake_.emplace(lane.launches[lane.cursor], stream);
  }

  void advance(size_t stream) {
    Lane& lane = lanes_[stream];
    lane.waits_for = missing(lane.launches[lane.cursor]);
    if (lane.waits_for.valid()) {
      asleep_[lane.waits_for.index()].push_back(stream);
      return;
    }
    ++lane.cursor;
    if (lane.cursor == lane.end) {
      close(lane);
      open(lane);
    }
    wake(stream);
  }

  /// A predecessor on another stream that has not completed. On its own stream nothing overtakes.
  NodeId missing(NodeId node) const {
    for (const Dependency& dependency : dependencies_.of(node)) {
      bool elsewhere = graph_.node(dependency.from).stream != graph_.node(node).stream;
      if (elsewhere && !complete_[dependency.from.index()]) return dependency.from;
    }
    return {};
  }

  /// Completes the unit, from its begin to the cursor.
  void close(Lane& lane) {
    size_t first = found_.launches_.size();
    for (size_t i = lane.begin; i < lane.cursor; ++i) {
      NodeId node = lane.launches[i];
      complete_[node.index()] = true;
      found_.unit_of_[node.index()] = static_cast<uint32_t>(found_.units_.size());
      found_.launches_.push_back(node);
      for (size_t stream : asleep_[node.index()]) wake(stream);
      asleep_[node.index()].clear();
      --left_;
    }
    found_.units_.push_back({first, found_.launches_.size(), lane.held_by});
    lane.held_by = {};
  }

  void split() {
    std::vector<size_t> path;
    std::vector<bool> seen(lanes_.size(), false);
    size_t stream = 0;
    while (lanes_[stream].cursor == lanes_[stream].launches.size()) ++stream;
    for (; !seen[stream]; stream = graph_.node(lanes_[stream].waits_for).stream.index()) {
      seen[stream] = true;
      path.push_back(stream);
    }
    path.erase(path.begin(), std::find(path.begin(), path.end(), stream));
    std::optional<size_t> chosen;
    for (size_t i = 0; i < path.size(); ++i) {
      NodeId wanted = lanes_[path[i]].waits_for;
      size_t holder = path[(i + 1) % path.size()];
      const Lane& lane = lanes_[holder];
      if (position_[wanted.index()] >= lane.cursor) continue;
      bool earlier = !chosen || lane.launches[lane.cursor] < sleeper(*chosen);
      if (earlier) chosen = holder;
    }
    if (!chosen) {
      throw Error("deadlock",
                  describe(graph_.node(sleeper(stream))) + " waits, over others, for itself",
                  "let operators wait for earlier ones only");
    }
    Lane& lane = lanes_[*chosen];
    close(lane);
    lane.begin = lane.cursor;
    lane.held_by = lane.waits_for;
  }

  NodeId sleeper(size_t stream) const { return lanes_[stream].launches[lanes_[stream].cursor]; }

  using Head = std::pair<NodeId, size_t>;  // of a stream: its next operator
  const Graph& graph_;
  const Dependencies& dependencies_;
  std::vector<Lane> lanes_;                  // by stream
  std::vector<size_t> position_;             // by node: in its lane
  std::vector<bool> complete_;               // by node
  std::vector<std::vector<size_t>> asleep_;  // by node: the streams that wait for it
  std::priority_queue<Head, std::vector<Head>, std::greater<>> awake_;
  size_t left_ = 0;
  LaunchUnits found_;
};

LaunchUnits form_units(const Graph& graph, const Dependencies& dependencies) {
  return UnitWalk(graph, dependencies).run();
}

}  // namespace anabranch::passes
