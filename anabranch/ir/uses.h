// What each launched operator does to memory: the facts of capture as uses of buffers.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "anabranch/ir/conflict.h"
#include "anabranch/ir/graph.h"

namespace anabranch {

/// The uses of every operator of a graph, in program order.
///
/// * an operand is a Read of its byte range, a written operand an Update; what the node `reads`
///   beside its operands is a Read;
/// * a result in a buffer that no earlier node made is a Write of the whole buffer; a result in a
///   known buffer (a view, the returned `self` of an in-place operator) is no use of its own;
/// * an effect is an Update of a resource, which has a BufferId after those of the graph;
/// * a control operator has the effects of its bodies too, and if a body writes to one of the
///   body's inputs, every tensor operand counts as written (which one it is, is not recorded);
/// * views, sizes and waits use nothing: a wait orders by its edges, and whoever reads its result
///   reads the buffer.
class UseTable {
 public:
  explicit UseTable(const Graph& graph);

  std::span<const Use> of(NodeId node) const;
  /// Real buffers and resources together.
  size_t buffer_count() const { return buffer_count_; }
  bool is_resource(BufferId buffer) const { return buffer.index() >= graph_buffers_; }
  /// "buffer b3 (%x)", "the random generator \"cpu\"".
  std::string describe(const Graph& graph, BufferId buffer) const;

 private:
  void add_operator(const Graph& graph, const Node& node);
  BufferId resource(const Effect& effect);

  size_t graph_buffers_ = 0;
  size_t buffer_count_ = 0;
  std::vector<Use> uses_;
  std::vector<size_t> first_;  // by node: index of its first use; one more at the end
  std::vector<Effect> resources_;
  std::vector<ValueId> roots_;  // by buffer, to name it
};

/// Hull of the bytes that the window can touch; whole() when a size is symbolic.
ByteRange byte_range(const TensorType& type);

/// True if a body of the control operator writes to one of the body's inputs.
bool bodies_write_inputs(const Node& node);

/// By buffer: the value that first named it (the "root" whose memory the others view).
std::vector<ValueId> buffer_roots(const Graph& graph);

}  // namespace anabranch
