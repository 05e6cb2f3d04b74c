// The verifier's own order of a schedule, found apart from analysis/happens_before.h: a topological
// sort of all commands, with vector clocks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "anabranch/base/diagnostic.h"
#include "anabranch/ir/graph.h"
#include "anabranch/schedule/schedule.h"

namespace anabranch::verify {

/// Where the schedule launches an operator.
struct LaunchPlace {
  uint32_t stream = 0;
  uint32_t position = 0;  // 1-based among the launches of its stream; 0: not launched
  uint32_t clock = 0;
  uint32_t rank = 0;  // position in one order that the schedule allows
};

class Replay {
 public:
  /// Reports launches and events that are wrong in themselves: launch-missing, launch-twice,
  /// launch-unknown, wrong-stream, event-recorded-twice, event-not-recorded, deadlock.
  Replay(const Graph& graph, const Schedule& schedule, std::vector<Diagnostic>& findings);

  /// False if the lists have no order: nothing else can be said of the schedule then.
  bool has_order() const { return has_order_; }
  bool launched(NodeId node) const {
    return node.index() < places_.size() && places_[node.index()].position > 0;
  }
  /// True if `a` completes before `b` starts; both launched.
  bool before(NodeId a, NodeId b) const;
  const LaunchPlace& place(NodeId node) const { return places_[node.index()]; }

 private:
  struct Point {  // a command
    uint32_t stream = 0;
    uint32_t index = 0;
  };

  void check_launches();
  bool find_records();
  void sort_commands();
  void step(Point point);
  void report_deadlock();
  void report(const char* rule, std::string message, std::string fix, const Node* node = nullptr);
  const Command& command(Point point) const {
    return schedule_.streams[point.stream].commands[point.index];
  }

  const Graph& graph_;
  const Schedule& schedule_;
  std::vector<Diagnostic>& findings_;
  bool has_order_ = false;
  std::vector<LaunchPlace> places_;             // by NodeId
  std::vector<std::vector<uint32_t>> clocks_;   // launches known complete, by stream
  std::vector<std::optional<Point>> record_;    // by event
  std::vector<std::vector<Point>> waits_;       // by event
  std::vector<uint32_t> event_clock_;           // by event: clock that a wait for it gains
  std::vector<uint32_t> next_;                  // by stream: first command not sorted yet
  std::vector<uint32_t> clock_now_, launched_;  // by stream
  uint32_t rank_ = 0;
};

}  // namespace anabranch::verify
