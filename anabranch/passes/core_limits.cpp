#include "anabranch/passes/core_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "anabranch/analysis/concurrency.h"
#include "anabranch/analysis/operator_class.h"
#include "anabranch/passes/thread_sensitive.h"

namespace anabranch::passes {
namespace {

/// A whole number of at least 1; nothing for any other text.
std::optional<int> parse_cores(std::string_view text) {
  int value = 0;
  auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  bool whole = result.ec == std::errc() && result.ptr == text.data() + text.size();
  if (!whole || value < 1) return std::nullopt;
  return value;
}

std::optional<int> attribute_cores(const Attribute& attribute) {
  if (const auto* text = std::get_if<std::string>(&attribute)) return parse_cores(*text);
  const auto* integer = std::get_if<int64_t>(&attribute);
  if (!integer || *integer < 1 || *integer > INT32_MAX) return std::nullopt;
  return static_cast<int>(*integer);
}

int own_limit(const Node& node, std::string_view key) {
  auto found = node.attributes.find(key);
  if (found == node.attributes.end()) return 0;
  if (std::optional<int> cores = attribute_cores(found->second)) return *cores;
  throw Error(Diagnostic{Severity::Error,
                         "core-limit",
                         fmt::format("{} of {} is {}, which is not a number of cores", key,
                                     describe(node), to_string(found->second)),
                         "give limit_core_num numbers of at least 1",
                         {node.source}});
}

int of_class(const CoreCount& count, OperatorClass which) {
  return which == OperatorClass::Cube ? count.cube : count.vector;
}

/// In cores of the operator's class; 0: none. Both attributes are checked, one counts.
int limit_of(const Node& node, const CoreLimits& limits) {
  CoreCount own{own_limit(node, keys::kCubeCores), own_limit(node, keys::kVectorCores)};
  OperatorClass which = operator_class(node);
  int limit = of_class(own, which);
  return limit > 0 ? limit : of_class(limits.graph, which);
}

int cap_of(const Node& node, const CoreLimits& limits, int cores) {
  int limit = limit_of(node, limits);
  int cap = 0;
  int device = of_class(limits.device, operator_class(node));
  if (limit > 0 && limit < device) {
    cap = std::max(1, static_cast<int>(int64_t{cores} * limit / device));
  }
  for (const auto& body : node.bodies) {
    for (const Node& inner : body->nodes) {
      int inside = computes(inner) ? cap_of(inner, limits, cores) : 0;
      if (inside > 0 && (cap == 0 || inside < cap)) cap = inside;
    }
  }
  return cap;
}

/// The place of the largest value in a range, in constant time. Needs n log n places.
class RangeMax {
 public:
  explicit RangeMax(std::vector<int> values) : values_(std::move(values)) {
    std::vector<uint32_t> level(values_.size());
    for (size_t i = 0; i < level.size(); ++i) level[i] = static_cast<uint32_t>(i);
    for (size_t width = 1; !level.empty(); width *= 2) {
      levels_.push_back(level);
      if (level.size() <= width) break;
      for (size_t i = 0; i + width < level.size(); ++i)
        level[i] = larger(level[i], level[i + width]);
      level.resize(level.size() - width);
    }
  }

  /// The first of the largest in [first, last], which must not be empty.
  uint32_t find(uint32_t first, uint32_t last) const {
    size_t level = 0;
    while ((size_t{2} << level) <= size_t{last} - first + 1) ++level;
    return larger(levels_[level][first], levels_[level][last + 1 - (size_t{1} << level)]);
  }
  int value(uint32_t place) const { return values_[place]; }

 private:
  uint32_t larger(uint32_t a, uint32_t b) const { return values_[b] > values_[a] ? b : a; }

  std::vector<int> values_;
  std::vector<std::vector<uint32_t>> levels_;  // by k: the largest of 2^k values from a place on
};

/// Looks for operators of one class on different streams whose limits do not fit together.
class Search {
 public:
  Search(const Graph& graph, const Schedule& schedule, const CoreLimits& limits,
         const ConcurrentLaunches& concurrent, OperatorClass which)
      : concurrent_(concurrent), device_(of_class(limits.device, which)) {
    for (const StreamProgram& program : schedule.streams) {
      std::vector<NodeId> nodes;
      std::vector<int> limit;
      for (const Command& command : program.commands) {
        const auto* launch = std::get_if<Launch>(&command);
        if (!launch) continue;
        const Node& node = graph.node(launch->node);
        bool counts = computes(node) && operator_class(node) == which;
        nodes.push_back(launch->node);
        limit.push_back(counts ? limit_of(node, limits) : 0);
      }
      nodes_.push_back(std::move(nodes));
      limits_.emplace_back(std::move(limit));
    }
  }

  /// The operators of the first excess, largest limit first; empty when all limits fit.
  std::vector<NodeId> run() const {
    for (size_t s = 0; s < nodes_.size(); ++s) {
      for (uint32_t begin = 0; begin < nodes_[s].size();) {
        uint32_t end = begin + 1;
        auto group = concurrent_.group(nodes_[s][begin]);
        while (end < nodes_[s].size() && concurrent_.group(nodes_[s][end]) == group) ++end;
        std::vector<NodeId> found = excess_beside(s, limits_[s].find(begin, end - 1));
        if (!found.empty()) return found;
        begin = end;
      }
    }
    return {};
  }

 private:
  /// Adds to the operator what else can run at that moment, on streams after its own, always the
  /// largest limit next: operators are only added that can run beside all that are there already.
  std::vector<NodeId> excess_beside(size_t stream, uint32_t place) const {
    int sum = std::min(limits_[stream].value(place), device_);
    if (sum == 0) return {};
    std::vector<NodeId> chosen{nodes_[stream][place]};
    std::vector<bool> used(nodes_.size(), false);
    while (sum <= device_) {
      size_t best_stream = 0;
      uint32_t best = 0;
      int largest = 0;
      for (size_t t = stream + 1; t < nodes_.size(); ++t) {
        std::optional<uint32_t> candidate = used[t] ? std::nullopt : largest_beside(chosen, t);
        if (!candidate || limits_[t].value(*candidate) <= largest) continue;
        best_stream = t;
        best = *candidate;
        largest = limits_[t].value(best);
      }
      if (largest == 0) return {};
      used[best_stream] = true;
      chosen.push_back(nodes_[best_stream][best]);
      sum += largest;
    }
    return chosen;
  }

  std::optional<uint32_t> largest_beside(const std::vector<NodeId>& chosen, size_t stream) const {
    uint32_t first = 1, last = UINT32_MAX;
    for (NodeId node : chosen) {
      ConcurrentLaunches::Range range = concurrent_.beside(node, StreamId(stream));
      first = std::max(first, range.first);
      last = std::min(last, range.last);
    }
    if (first > last) return std::nullopt;
    return limits_[stream].find(first - 1, last - 1);
  }

  const ConcurrentLaunches& concurrent_;
  int device_;
  std::vector<std::vector<NodeId>> nodes_;  // by stream: its launches
  std::vector<RangeMax> limits_;
};

Diagnostic warning(const Graph& graph, const CoreLimits& limits, const std::vector<NodeId>& nodes,
                   OperatorClass which) {
  std::string names, sum;
  std::vector<SourceLocation> where;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = graph.node(nodes[i]);
    const char* comma = i == 0 ? "" : i + 1 == nodes.size() ? " and " : ", ";
    names += fmt::format("{}{} on {}", comma, describe(node),
                         describe(graph.streams[node.stream.index()]));
    sum += fmt::format("{}{}", i == 0 ? "" : " + ", limit_of(node, limits));
    where.push_back(node.source);
  }
  int device = of_class(limits.device, which);
  return {
      Severity::Warning, "core-limit",
      fmt::format("{} can run at the same moment with limits of {} {} cores, but the device has "
                  "{}: on an NPU this is a hang",
                  names, sum, to_string(which), device),
      fmt::format("lower the limits of limit_core_num to at most {} together, or let one "
                  "operator wait for the other",
                  device),
      std::move(where)};
}

}  // namespace

CoreCount parse_core_count(std::string_view text) {
  size_t bar = text.find('|');
  if (bar != std::string_view::npos) {
    std::optional<int> cube = parse_cores(text.substr(0, bar));
    std::optional<int> vector = parse_cores(text.substr(bar + 1));
    if (cube && vector) return {*cube, *vector};
  }
  throw Error("core-limit", fmt::format("\"{}\" is no limit of cube and vector cores", text),
              "two numbers of at least 1, such as \"8|16\"");
}

std::vector<int> thread_caps(const Graph& graph, const CoreLimits& limits, int cores) {
  std::vector<int> caps(graph.nodes.size(), 0);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (!computes(node)) continue;
    int cap = cap_of(node, limits, cores);
    if (cap > 0 && cap < cores && !is_thread_sensitive(graph, node)) caps[i] = cap;
  }
  return caps;
}

std::vector<Diagnostic> check_core_limits(const Graph& graph, const Schedule& schedule,
                                          const HappensBefore& order, const CoreLimits& limits) {
  bool any = std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return computes(node) && limit_of(node, limits) > 0;
  });
  if (!any || schedule.streams.size() < 2) return {};
  ConcurrentLaunches concurrent(graph, schedule, order);
  for (OperatorClass which : {OperatorClass::Cube, OperatorClass::Vector}) {
    std::vector<NodeId> found = Search(graph, schedule, limits, concurrent, which).run();
    if (!found.empty()) return {warning(graph, limits, found, which)};
  }
  return {};
}

}  // namespace anabranch::passes
