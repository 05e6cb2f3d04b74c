// Gives every launched operator the stream of its label.
//
// Guarantees: one label, one stream; no label or "" is the default stream; streams are numbered by
// first appearance in the program; a super_kernel scope is on one stream, that of its first
// operator, unless its options keep its streams; what is not launched stays on the default stream
// and keeps the attributes it was captured with.
#include <fmt/format.h>

#include <charconv>
#include <unordered_map>

#include "anabranch/passes/passes.h"
#include "anabranch/passes/super_kernel.h"

namespace anabranch::passes {
namespace {

int64_t priority_of(const Node& node) {
  auto found = node.attributes.find(keys::kStreamPriority);
  if (found == node.attributes.end()) return 0;
  if (const auto* integer = std::get_if<int64_t>(&found->second)) return *integer;
  if (const auto* text = std::get_if<std::string>(&found->second)) {
    int64_t value = 0;
    auto result = std::from_chars(text->data(), text->data() + text->size(), value);
    if (result.ec == std::errc() && result.ptr == text->data() + text->size()) return value;
  }
  throw Error(Diagnostic{Severity::Error,
                         "stream-priority",
                         fmt::format("the stream priority of {} is {}, which is not an integer",
                                     describe(node), to_string(found->second)),
                         "give stream_priority an integer; a smaller number runs first",
                         {node.source}});
}

bool inner_parallel_of(const Node& node) {
  auto found = node.attributes.find(keys::kInnerParallel);
  if (found == node.attributes.end()) return true;
  const bool* value = std::get_if<bool>(&found->second);
  return value == nullptr || *value;
}

/// Streams by label, and where each label's priority came from.
class StreamTable {
 public:
  explicit StreamTable(Graph& graph)
      : graph_(graph), super_kernels_(join_super_kernels(graph)), first_(1) {
    graph_.streams.assign(1, Stream{});
    by_label_.emplace("", kDefaultStream);
  }

  void assign(NodeId id) {
    Node& node = graph_.node(id);
    node.stream = kDefaultStream;
    if (!node.launches()) return;
    const std::string* label = find_string(node.attributes, keys::kStreamLabel);
    int64_t priority = priority_of(node);
    const std::string* joined = label_of_super_kernel(node);
    bool moved = joined && *joined != (label ? *label : "");
    if (moved) {
      node.attributes.insert_or_assign(std::string(keys::kAssignedStream), *joined);
      label = joined;
    }
    if (!label || label->empty()) return;
    auto [entry, added] = by_label_.emplace(*label, StreamId(graph_.streams.size()));
    node.stream = entry->second;
    node.attributes.insert_or_assign(std::string(keys::kAssignedStream), *label);
    if (added) {
      graph_.streams.push_back(Stream{*label, priority, inner_parallel_of(node)});
      first_.push_back(id);
      warned_.resize(graph_.streams.size(), false);
      return;
    }
    if (moved) return;
    Stream& stream = graph_.streams[node.stream.index()];
    stream.inner_parallel = stream.inner_parallel && inner_parallel_of(node);
    if (stream.priority != priority) merge_priority(id, priority);
  }

  std::vector<Diagnostic> take_warnings() {
    std::vector<Diagnostic> all = std::move(super_kernels_.warnings);
    all.insert(all.end(), warnings_.begin(), warnings_.end());
    return all;
  }

 private:
  const std::string* label_of_super_kernel(const Node& node) const {
    const std::string* scope = super_kernel_of(node);
    auto found = scope ? super_kernels_.label.find(*scope) : super_kernels_.label.end();
    return found == super_kernels_.label.end() ? nullptr : &found->second;
  }

  void merge_priority(NodeId id, int64_t priority) {
    const Node& node = graph_.node(id);
    size_t index = node.stream.index();
    Stream& stream = graph_.streams[index];
    if (!warned_[index]) {
      warnings_.push_back(
          {Severity::Warning,
           "stream-priority",
           fmt::format("{} has priority {} and, from {} on, {}: the smallest is used",
                       describe(stream), stream.priority, describe(node), priority),
           "give every scope of one tag the same stream_priority",
           {graph_.node(first_[index]).source, node.source}});
      warned_[index] = true;
    }
    stream.priority = std::min(stream.priority, priority);
  }

  Graph& graph_;
  SuperKernels super_kernels_;
  std::unordered_map<std::string, StreamId> by_label_;
  std::vector<NodeId> first_;  // by stream: the operator that named it
  std::vector<bool> warned_;
  std::vector<Diagnostic> warnings_;
};

void refuse_labels(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    const std::string* label = find_string(node.attributes, keys::kStreamLabel);
    if (!node.launches() || !label || label->empty()) continue;
    throw Error(
        Diagnostic{Severity::Error,
                   "single-stream",
                   fmt::format("{} is labelled for stream \"{}\", but the graph must run on a "
                               "single stream (E10055)",
                               describe(node), *label),
                   "set ge_config.enable_single_stream to False, or remove the stream scopes",
                   {node.source}});
  }
}

}  // namespace

std::vector<Diagnostic> assign_streams(Graph& graph, bool single_stream) {
  if (single_stream) refuse_labels(graph);
  StreamTable table(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) table.assign(NodeId(i));
  return table.take_warnings();
}

void idle_streams(Graph& graph) {
  graph.streams.assign(1, Stream{});
  for (Node& node : graph.nodes) node.stream = kDefaultStream;
}

}  // namespace anabranch::passes
