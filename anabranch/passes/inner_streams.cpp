// Inner streams of labels that allow them.
//
// Guarantees: only operators of a label whose scopes all have enable_inner_parallel=True move, and
// only those that the compiler would put on a stream of their own: communication to "<tag>_comm",
// asynchronous copies to "<tag>_copy". They move when one of them could run beside another operator
// of the label, one that neither needs it nor is needed by it; else the label keeps them. A label
// with enable_inner_parallel=False stays one strict FIFO. The inner stream has the label's
// priority. Order is not the streams' business: data, waits and effects (all collectives of one
// group, on any stream) get their events afterwards.
#include <algorithm>
#include <array>
#include <vector>

#include "anabranch/passes/dependencies.h"
#include "anabranch/passes/own_stream.h"
#include "anabranch/passes/passes.h"
#include "anabranch/passes/stream_names.h"
#include "anabranch/passes/super_kernel.h"

namespace anabranch::passes {
namespace {

struct Members {
  std::vector<NodeId> others;
  std::array<std::vector<NodeId>, 2> own;  // communication, copies
};

std::vector<Members> members_of_streams(const Graph& graph) {
  std::vector<Members> members(graph.streams.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.kind != NodeKind::Operator || super_kernel_of(node)) continue;
    Members& mine = members[node.stream.index()];
    switch (own_stream(node)) {
      case OwnStream::None: mine.others.push_back(NodeId(i)); break;
      case OwnStream::Communication: mine.own[0].push_back(NodeId(i)); break;
      case OwnStream::Copy: mine.own[1].push_back(NodeId(i)); break;
    }
  }
  return members;
}

/// True if one of `others` neither comes after `node` nor before it by the required order.
bool has_company(const Graph& graph, const Dependencies& dependencies, NodeId node,
                 const std::vector<NodeId>& others) {
  std::vector<bool> ordered(graph.nodes.size(), false);
  ordered[node.index()] = true;
  for (size_t i = node.index() + 1; i < ordered.size(); ++i) {
    for (const Dependency& before : dependencies.of(NodeId(i)))
      ordered[i] = ordered[i] || ordered[before.from.index()];
  }
  for (size_t i = node.index() + 1; i-- > 0;) {
    if (!ordered[i]) continue;
    for (const Dependency& before : dependencies.of(NodeId(i))) ordered[before.from.index()] = true;
  }
  return std::any_of(others.begin(), others.end(),
                     [&](NodeId other) { return !ordered[other.index()]; });
}

}  // namespace

void place_inner_streams(Graph& graph) {
  std::vector<Members> members = members_of_streams(graph);
  bool any = std::any_of(members.begin() + 1, members.end(), [](const Members& stream) {
    return !stream.own[0].empty() || !stream.own[1].empty();
  });
  if (!any) return;
  Dependencies dependencies(graph);
  StreamNames names(graph);
  constexpr std::array kSuffix{"_comm", "_copy"};
  for (size_t s = 1; s < members.size(); ++s) {
    const Stream outer = graph.streams[s];
    if (!outer.inner_parallel) continue;
    for (size_t kind = 0; kind < kSuffix.size(); ++kind) {
      const std::vector<NodeId>& own = members[s].own[kind];
      bool pays = std::any_of(own.begin(), own.end(), [&](NodeId node) {
        return has_company(graph, dependencies, node, members[s].others);
      });
      if (!pays) continue;
      StreamId inner(graph.streams.size());
      graph.streams.push_back({names.fresh(outer.label + kSuffix[kind]), outer.priority, true});
      for (NodeId node : own) put_on_stream(graph, node, inner);
    }
  }
}

}  // namespace anabranch::passes
