#include "anabranch/passes/stream_names.h"

namespace anabranch::passes {

StreamNames::StreamNames(const Graph& graph) {
  for (const Stream& stream : graph.streams) taken_.insert(stream.label);
  collect(graph);
}

void StreamNames::collect(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (const std::string* label = find_string(node.attributes, keys::kStreamLabel))
      taken_.insert(*label);
    for (const auto& body : node.bodies) collect(*body);
  }
}

std::string StreamNames::fresh(const std::string& wanted) {
  std::string name = wanted;
  for (int number = 2; !taken_.insert(name).second; ++number)
    name = wanted + "_" + std::to_string(number);
  return name;
}

void put_on_stream(Graph& graph, NodeId id, StreamId stream) {
  Node& node = graph.node(id);
  node.stream = stream;
  const std::string& label = graph.streams[stream.index()].label;
  if (stream == kDefaultStream) {
    node.attributes.erase(std::string(keys::kAssignedStream));
  } else {
    node.attributes.insert_or_assign(std::string(keys::kAssignedStream), label);
  }
}

}  // namespace anabranch::passes
