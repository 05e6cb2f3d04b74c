#include "anabranch/analysis/makespan.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>
#include <vector>

#include "anabranch/schedule/lane_order.h"

namespace anabranch {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

struct Step {
  Command command;
  int64_t priority = 0;  // of its stream
};

class Walk {
 public:
  Walk(const Graph& graph, const Schedule& schedule, std::span<const size_t> lanes,
       const CostModel& costs, double wait_ns)
      : costs_(costs),
        wait_ns_(wait_ns),
        free_cores_(std::max(1, costs.profile().cores)),
        recorded_(schedule.event_count) {
    lanes_.resize(1);
    std::vector<size_t> place(schedule.streams.size(), 0);  // by stream: index into lanes_
    std::vector<size_t> known{0};
    for (size_t s = 0; s < place.size(); ++s) {
      auto found = std::find(known.begin(), known.end(), lanes[s]);
      place[s] = static_cast<size_t>(found - known.begin());
      if (found == known.end()) known.push_back(lanes[s]);
    }
    lanes_.resize(known.size());
    for (const OrderedCommand& ordered : lane_order(graph, schedule)) {
      const StreamProgram& program = schedule.streams[ordered.stream.index()];
      lanes_[place[ordered.stream.index()]].steps.push_back(
          {program.commands[ordered.index], program.stream.priority});
    }
  }

  double run() {
    for (size_t i = 1; i < lanes_.size(); ++i) lanes_[i].time = wait_ns_;
    for (size_t i = 0; i < lanes_.size(); ++i) advance(i);
    double end = 0;
    while (!running_.empty() || !ready_.empty() || !waking_.empty()) {
      start_ready();
      end = std::max(end, step());
    }
    for (size_t i = 0; i < lanes_.size(); ++i)
      end = std::max(end, lanes_[i].time + (i > 0 ? wait_ns_ : 0));
    return end;
  }

 private:
  struct Lane {
    std::vector<Step> steps;
    size_t next = 0;
    double time = 0;  // when it came to `next`
  };
  struct Recorded {
    double at = kNever;
    size_t lane = 0;
    std::vector<size_t> held;  // lanes that wait for it
  };

  /// Walks records and waits up to the lane's next kernel, or to an event that is not recorded yet.
  void advance(size_t index) {
    Lane& lane = lanes_[index];
    for (; lane.next < lane.steps.size(); ++lane.next) {
      const Step& step = lane.steps[lane.next];
      if (std::holds_alternative<Launch>(step.command)) {
        waking_.emplace(lane.time, index);
        return;
      }
      if (const auto* record = std::get_if<Record>(&step.command)) {
        publish(record->event, index);
        continue;
      }
      Recorded& event = recorded_[std::get<Wait>(step.command).event.index()];
      if (event.at == kNever) {
        event.held.push_back(index);
        return;
      }
      // Waiting costs only the waiter that came before the record; a late one finds it done.
      double arrival = event.lane == index ? event.at : event.at + wait_ns_;
      if (event.at > lane.time) lane.time = arrival;
    }
  }

  void publish(EventId id, size_t index) {
    Recorded& event = recorded_[id.index()];
    event.at = lanes_[index].time;
    event.lane = index;
    std::vector<size_t> held = std::move(event.held);
    for (size_t lane : held) advance(lane);
  }

  /// Starts what is ready now while there are cores, the most urgent first.
  void start_ready() {
    while (!waking_.empty() && waking_.top().first <= now_) {
      size_t lane = waking_.top().second;
      waking_.pop();
      const Step& step = lanes_[lane].steps[lanes_[lane].next];
      ready_.emplace(step.priority, std::get<Launch>(step.command).node.index(), lane);
    }
    while (!ready_.empty()) {
      size_t lane = std::get<2>(ready_.top());
      const auto& launch = std::get<Launch>(lanes_[lane].steps[lanes_[lane].next].command);
      double duration = costs_.nanoseconds(launch.node, launch.threads);
      int cores = duration > 0 ? cores_of(launch) : 0;
      if (cores > free_cores_) return;
      ready_.pop();
      free_cores_ -= cores;
      running_.emplace(now_ + duration, lane, cores);
    }
  }

  int cores_of(const Launch& launch) const {
    if (launch.exclusive) return std::max(1, costs_.profile().cores);
    return std::min(costs_.used_threads(launch.threads), costs_.cost(launch.node).widest);
  }

  /// Goes to the next moment at which something ends or wakes; returns that moment.
  double step() {
    double ends = running_.empty() ? kNever : std::get<0>(running_.top());
    double wakes = waking_.empty() ? kNever : waking_.top().first;
    now_ = std::min(ends, wakes);
    while (!running_.empty() && std::get<0>(running_.top()) <= now_) {
      auto [end, lane, cores] = running_.top();
      running_.pop();
      free_cores_ += cores;
      lanes_[lane].time = end;
      ++lanes_[lane].next;
      advance(lane);
    }
    return now_;
  }

  using Waking = std::pair<double, size_t>;           // when, lane
  using Ready = std::tuple<int64_t, size_t, size_t>;  // priority, operator, lane
  using Running = std::tuple<double, size_t, int>;    // end, lane, cores
  const CostModel& costs_;
  const double wait_ns_;
  double now_ = 0;
  int free_cores_;
  std::vector<Lane> lanes_;
  std::vector<Recorded> recorded_;  // by EventId
  std::priority_queue<Waking, std::vector<Waking>, std::greater<>> waking_;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready_;
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running_;
};

}  // namespace

double predict_makespan(const Graph& graph, const Schedule& schedule, std::span<const size_t> lanes,
                        const CostModel& costs, double wait_ns) {
  return Walk(graph, schedule, lanes, costs, wait_ns).run();
}

}  // namespace anabranch
