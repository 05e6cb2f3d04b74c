// The graph: operators in program order, the values they make, and the buffers those values view.
//
// Data edges alone do not order a program that mutates memory; ir/uses.h turns every operator into
// uses of buffers, and ir/conflict.h says which two uses must stay in order.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "anabranch/base/diagnostic.h"
#include "anabranch/base/ids.h"
#include "anabranch/ir/argument.h"
#include "anabranch/ir/attribute.h"
#include "anabranch/ir/type.h"

namespace anabranch {

enum class NodeKind : uint8_t {
  Input,           // placeholder of the call: a tensor or a host integer
  Constant,        // tensor that comes with the graph
  Operator,        // launched on a stream
  View,            // new window on its first argument's buffer; never launched
  Size,            // host integer computed from sizes; never launched
  Wait,            // Identity: alias of its argument that completes after its control inputs
  WaitDependency,  // marker: the value that the Wait of the same number waits for
};

/// An order that no memory shows: a random generator, a process group, the standard output.
/// Effects on one resource keep program order.
enum class EffectKind : uint8_t { Random, Collective, Io };
struct Effect {
  EffectKind kind = EffectKind::Random;
  std::string resource;
  bool operator==(const Effect&) const = default;
};
std::string_view to_string(EffectKind kind);

/// Why an operator must come after another although it does not read its result.
enum class ControlReason : uint8_t { User, Effect };
struct ControlEdge {
  NodeId from;
  ControlReason reason = ControlReason::User;
  bool operator==(const ControlEdge&) const = default;
};

struct Graph;

struct Node {
  std::string name;  // unique in its graph
  std::string op;    // "aten.add.Tensor"; the kind's own word for other kinds ("input", "wait")
  NodeKind kind = NodeKind::Operator;
  std::vector<Operand> operands;
  std::vector<ValueId> results;
  std::vector<ValueId> writes;  // operands whose memory it changes
  std::vector<ValueId> reads;   // no operands, but in use until it completes: see docs/formats.md
  std::vector<Effect> effects;
  std::vector<std::shared_ptr<Graph>> bodies;  // of control operators: cond, while_loop
  std::vector<ControlEdge> control;
  Attributes attributes;
  StreamId stream = kDefaultStream;  // set by passes::assign_streams
  SourceLocation source;
  int64_t wait_number = -1;  // Wait and WaitDependency

  /// True for what occupies a place in a stream's command list.
  bool launches() const { return kind == NodeKind::Operator || kind == NodeKind::Wait; }
};

struct Value {
  std::string name;  // unique in its graph
  NodeId producer;
  size_t result_index = 0;
  Type type;

  const TensorType* tensor() const { return std::get_if<TensorType>(&type); }
  const HostType* host() const { return std::get_if<HostType>(&type); }
};

/// A logical stream: the operators that carry one label. Stream 0 is the default stream, label "".
struct Stream {
  std::string label;
  int64_t priority = 0;  // smaller runs first
  bool inner_parallel = true;
  bool operator==(const Stream&) const = default;
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;  // program order: NodeId is the position
  std::vector<Value> values;
  std::vector<Argument> outputs;  // values, None or host expressions
  std::vector<Stream> streams{Stream{}};
  size_t buffer_count = 0;  // buffers are b0 … b<count-1>

  Node& node(NodeId id) { return nodes[id.index()]; }
  const Node& node(NodeId id) const { return nodes[id.index()]; }
  Value& value(ValueId id) { return values[id.index()]; }
  const Value& value(ValueId id) const { return values[id.index()]; }
  const Node& producer(ValueId id) const { return node(value(id).producer); }

  /// Appends a node; the returned reference lives until the next add_node.
  Node& add_node(Node node);
  /// Makes `type` the next result of `node`.
  ValueId add_result(NodeId node, std::string value_name, Type type);

  /// Removes the marked nodes and their results and renumbers; nothing may still refer to them.
  void erase_nodes(const std::vector<bool>& erased);

  /// The values that the node reads, in operand order, repeated as written.
  std::vector<ValueId> value_operands(NodeId id) const;
};

/// "add_1 (aten.add.Tensor)".
std::string describe(const Node& node);
/// `stream "1"`, or `the default stream`.
std::string describe(const Stream& stream);

}  // namespace anabranch
