#include "anabranch/passes/schedule_builder.h"

#include "anabranch/passes/passes.h"

namespace anabranch::passes {

Schedule build_schedule(const Graph& graph, const std::vector<std::vector<NodeId>>& waits) {
  std::vector<EventId> event(graph.nodes.size());
  std::vector<bool> recorded(graph.nodes.size(), false);
  for (const std::vector<NodeId>& sources : waits) {
    for (NodeId source : sources) recorded[source.index()] = true;
  }
  Schedule schedule;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (recorded[i]) event[i] = EventId(schedule.event_count++);
  }
  for (const Stream& stream : graph.streams) schedule.streams.push_back({stream, {}});
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (!node.launches()) continue;
    std::vector<Command>& commands = schedule.streams[node.stream.index()].commands;
    for (NodeId source : waits[i]) commands.push_back(Wait{event[source.index()]});
    commands.push_back(Launch{NodeId(i)});
    if (recorded[i]) commands.push_back(Record{event[i]});
  }
  return schedule;
}

Schedule serial_schedule(const Graph& graph) {
  Schedule schedule;
  schedule.streams.push_back({Stream{}, {}});
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].launches()) schedule.streams[0].commands.push_back(Launch{NodeId(i)});
  }
  return schedule;
}

}  // namespace anabranch::passes
