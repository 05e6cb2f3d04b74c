#include "anabranch/passes/auto_streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <utility>

#include "anabranch/analysis/makespan.h"
#include "anabranch/passes/partition.h"
#include "anabranch/passes/passes.h"
#include "anabranch/passes/stream_names.h"

namespace anabranch::passes {
namespace {

constexpr int kMostStreams = 64;
constexpr int kMostTried = 8;      // streams that "auto" tries
constexpr double kWorthIt = 0.95;  // of the time on one stream: what "auto" must reach

std::string slot_suffix(Slot slot) {
  if (slot == kVectorSlot) return "_vector";
  if (slot == kCommunicationSlot) return "_comm";
  if (slot == kCopySlot) return "_copy";
  return fmt::format("_{}", slot - 1);
}

/// Puts a partition into effect. Returns how many operators moved.
size_t move_operators(Graph& graph, const Partition& partition) {
  StreamNames names(graph);
  std::map<std::pair<size_t, Slot>, StreamId> made;
  size_t moved = 0;
  for (size_t i = 0; i < partition.size(); ++i) {
    if (partition[i] == 0) continue;
    StreamId group = graph.nodes[i].stream;
    auto [entry, added] = made.emplace(std::pair(group.index(), partition[i]), StreamId());
    if (added) {
      const Stream outer = graph.streams[group.index()];
      std::string prefix = group == kDefaultStream ? "auto" : outer.label;
      entry->second = StreamId(graph.streams.size());
      graph.streams.push_back(
          {names.fresh(prefix + slot_suffix(partition[i])), outer.priority, outer.inner_parallel});
    }
    put_on_stream(graph, NodeId(i), entry->second);
    ++moved;
  }
  return moved;
}

/// Predicts the duration of a call with a partition in effect; the graph stays as it is.
class Predictor {
 public:
  Predictor(Graph& graph, const CostModel& costs, const std::vector<int>& caps)
      : graph_(graph), costs_(costs), caps_(caps) {}

  double operator()(const Partition& partition, double wait_ns) const {
    std::vector<Stream> streams = graph_.streams;
    std::vector<StreamId> placed;
    for (const Node& node : graph_.nodes) placed.push_back(node.stream);
    move_operators(graph_, partition);
    Schedule schedule = place_events(graph_, nullptr);
    HappensBefore order(graph_, schedule);
    share_cores(graph_, schedule, order, costs_.used_threads(0), caps_);
    std::vector<size_t> lanes(schedule.streams.size());
    std::iota(lanes.begin(), lanes.end(), size_t{0});
    double makespan = predict_makespan(graph_, schedule, lanes, costs_, wait_ns);
    graph_.streams = std::move(streams);
    for (size_t i = 0; i < placed.size(); ++i) {
      if (graph_.nodes[i].stream != placed[i]) put_on_stream(graph_, NodeId(i), placed[i]);
    }
    return makespan;
  }

 private:
  Graph& graph_;
  const CostModel& costs_;
  const std::vector<int>& caps_;
};

struct Candidate {
  std::string name;
  Partition partition;
  double makespan = 0;
};

std::vector<Candidate> candidates(const Predictor& predict, const Partitioner& partitioner,
                                  const CostModel& costs) {
  std::vector<Candidate> found;
  auto try_it = [&](std::string name, Partition partition) {
    if (std::all_of(partition.begin(), partition.end(), [](Slot slot) { return slot == 0; }))
      return;
    double makespan = predict(partition, costs.profile().wait_ns);
    found.push_back({std::move(name), std::move(partition), makespan});
  };
  try_it("cv", partitioner.by_class());
  for (int k = 2; k <= std::clamp(costs.profile().cores, 2, kMostTried); ++k) {
    try_it(fmt::format("LoadBalance:{}", k), partitioner.balanced(k, true));
    try_it(fmt::format("MainStream:{}", k), partitioner.main_chain(k, true));
  }
  return found;
}

/// Why no partition is worth it.
std::string why_not(const Predictor& predict, const Partitioner& partitioner,
                    const std::vector<Candidate>& all, double one) {
  double serial = partitioner.longest_chain() / std::max(1.0, partitioner.total());
  if (serial >= kWorthIt || all.empty())
    return fmt::format("the model is serial: its longest chain is {:.0f} % of the work",
                       100 * serial);
  bool overlaps = std::any_of(all.begin(), all.end(), [&](const Candidate& candidate) {
    return predict(candidate.partition, 0) < kWorthIt * one;
  });
  if (overlaps) return "waits between streams would cost what the overlap gives";
  return "one operator at a time already uses the cores";
}

Diagnostic note(std::string message) {
  return {Severity::Note, "auto-streams", "auto_streams: " + std::move(message), "", {}};
}

size_t count_streams(const Partition& partition, const Graph& graph) {
  std::map<std::pair<size_t, Slot>, bool> used;
  for (size_t i = 0; i < partition.size(); ++i) {
    if (partition[i] != 0) used[{graph.nodes[i].stream.index(), partition[i]}] = true;
  }
  return used.size();
}

Diagnostic choose(Graph& graph, const Predictor& predict, const Partitioner& partitioner,
                  const CostModel& costs) {
  double one = predict(Partition(graph.nodes.size(), 0), costs.profile().wait_ns);
  std::vector<Candidate> all = candidates(predict, partitioner, costs);
  auto best = std::min_element(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.makespan < b.makespan;
  });
  bool none = best == all.end();
  if (none || best->makespan > kWorthIt * one) {
    std::string reason = why_not(predict, partitioner, all, one);
    std::string tried = none ? ""
                             : fmt::format("; best of {}: {} with {:.1f} us", all.size(),
                                           best->name, best->makespan / 1e3);
    return note(
        fmt::format("no further stream, {} (predicted {:.1f} us{})", reason, one / 1e3, tried));
  }
  size_t streams = count_streams(best->partition, graph);
  size_t moved = move_operators(graph, best->partition);
  return note(
      fmt::format("{} puts {} operators on {} further streams: predicted {:.1f} us instead "
                  "of {:.1f} us, waits included",
                  best->name, moved, streams, best->makespan / 1e3, one / 1e3));
}

}  // namespace

AutoStreams parse_auto_streams(std::string_view text) {
  using Mode = AutoStreams::Mode;
  if (text == "off") return {};
  if (text == "cv") return {Mode::Cv, 1};
  if (text == "auto") return {Mode::Auto, 1};
  size_t colon = text.find(':');
  std::string_view policy = text.substr(0, colon);
  if (colon != text.npos && (policy == "LoadBalance" || policy == "MainStream")) {
    int count = 0;
    const char* end = text.data() + text.size();
    auto result = std::from_chars(text.data() + colon + 1, end, count);
    if (result.ec == std::errc() && result.ptr == end && count >= 1 && count <= kMostStreams)
      return {policy == "LoadBalance" ? Mode::LoadBalance : Mode::MainStream, count};
  }
  throw Error("bad-option", fmt::format("auto_streams cannot be \"{}\"", text),
              "off, cv, LoadBalance:N, MainStream:N (N from 1 to 64) or auto");
}

std::string to_string(const AutoStreams& mode) {
  switch (mode.mode) {
    case AutoStreams::Mode::Off: return "off";
    case AutoStreams::Mode::Cv: return "cv";
    case AutoStreams::Mode::LoadBalance: return fmt::format("LoadBalance:{}", mode.count);
    case AutoStreams::Mode::MainStream: return fmt::format("MainStream:{}", mode.count);
    case AutoStreams::Mode::Auto: return "auto";
  }
  return "";
}

std::optional<Diagnostic> place_automatic_streams(Graph& graph, const AutoStreams& mode,
                                                  const CostModel& costs,
                                                  const std::vector<int>& caps) {
  if (mode.mode == AutoStreams::Mode::Off) return std::nullopt;
  Partitioner partitioner(graph, costs);
  Partition partition;
  switch (mode.mode) {
    case AutoStreams::Mode::Off: break;
    case AutoStreams::Mode::Auto:
      return choose(graph, Predictor(graph, costs, caps), partitioner, costs);
    case AutoStreams::Mode::Cv: partition = partitioner.by_class(); break;
    case AutoStreams::Mode::LoadBalance: partition = partitioner.balanced(mode.count, false); break;
    case AutoStreams::Mode::MainStream:
      partition = partitioner.main_chain(mode.count, false);
      break;
  }
  size_t streams = count_streams(partition, graph);
  size_t moved = move_operators(graph, partition);
  return note(
      fmt::format("{} puts {} operators on {} further streams", to_string(mode), moved, streams));
}

}  // namespace anabranch::passes
