// How the memory of every value of a graph is found in a call, decided once at load.
//
// Only "roots" hold a tensor: inputs, constants and results in memory of their own. Every other
// value is a window on a root: the root's storage seen through the value's captured type, so views
// and results of in-place operators cost no operator and no bookkeeping in a call.
#pragma once

#include <ATen/core/TensorBody.h>

#include <optional>
#include <vector>

#include "anabranch/backends/torch/geometry.h"
#include "anabranch/ir/conflict.h"
#include "anabranch/ir/graph.h"
#include "anabranch/schedule/schedule.h"

namespace anabranch::torch_backend {

/// Immutable; shared by all calls.
class ValuePlan {
 public:
  enum class Origin : uint8_t { Input, Constant, Result };
  struct Root {
    ValueId value;
    BufferId buffer;
    Origin origin = Origin::Result;
    Geometry geometry;
    // Somebody relies on its captured strides: a value that shows its memory in another way, or a
    // compiled kernel.
    bool viewed = false;
    bool written = false;                // some operator changes its memory
    bool reshaped = false;               // some operator changes its sizes or strides
    bool kept = false;                   // some operator may hold on to its tensor
    std::optional<Placement> placement;  // in the arena of the call
  };
  struct Place {
    size_t root = 0;
    bool window = false;  // not the root's tensor itself
    ValueId same_object;  // the value that is the same tensor object in the user's program
    Geometry geometry;
  };
  /// An input in the order of the graph's statements.
  struct Input {
    ValueId value;
    size_t root = 0;  // of a tensor
  };
  /// An input that kernels see through tensors of the context, whose memory is set in each call to
  /// the input's: so nothing that depends on the input is made again in a call.
  struct StandIn {
    size_t root = 0;
    ByteRange reach;        // of the windows on it, in captured bytes of the buffer
    int64_t alignment = 1;  // bytes, of the largest element that a window shows
  };
  /// A symbol that no host input gives: the size or stride of a tensor input.
  struct DerivedSymbol {
    std::string name;
    size_t input = 0;  // position in tensor_inputs()
    size_t dimension = 0;
    bool stride = false;
  };

  /// A symbol that an operator defines: its host result, or the geometry of a tensor that it makes.
  struct DefinedSymbol {
    enum class Part : uint8_t { Host, Size, Stride, Offset };
    std::string name;
    size_t result = 0;  // position among the operator's results
    Part part = Part::Host;
    size_t dimension = 0;
  };

  /// `constants`: one tensor per constant of the graph. `reshapes`: by node, whether the operator
  /// changes its operand's sizes or strides. `kept`: by buffer, whether some operator may hold on
  /// to a tensor on it. `layout`: the arena, see KernelSet::load. Throws Error ("bad-constants",
  /// "bad-view", "undefined-symbol").
  ValuePlan(const Graph& graph, std::vector<at::Tensor> constants,
            const std::vector<bool>& reshapes, const std::vector<bool>& kept,
            const MemoryLayout& layout);

  int64_t arena_bytes() const { return arena_bytes_; }

  const std::vector<Root>& roots() const { return roots_; }
  /// Of a tensor value.
  const Place& place(ValueId value) const { return *places_[value.index()]; }
  const std::vector<size_t>& roots_of(BufferId buffer) const {
    return buffer_roots_[buffer.index()];
  }

  const std::vector<Input>& tensor_inputs() const { return tensor_inputs_; }
  const std::vector<StandIn>& stand_ins() const { return stand_ins_; }
  const std::vector<Input>& integer_inputs() const { return integer_inputs_; }
  const std::vector<DerivedSymbol>& derived_symbols() const { return derived_symbols_; }
  /// By position among the roots of origin Constant, in order.
  const std::vector<at::Tensor>& constants() const { return constants_; }
  /// By whom each symbol that no input brings gets its value in a call.
  const std::vector<DefinedSymbol>& defined_symbols(NodeId node) const {
    return defined_symbols_[node.index()];
  }
  /// The names of all of them.
  const std::vector<std::string>& late_symbols() const { return late_symbols_; }
  bool writes_inputs() const { return writes_inputs_; }
  const Graph& graph() const { return graph_; }

 private:
  void place_results(const Node& node);
  /// The operand that the result shares its memory with, or an invalid id.
  ValueId aliased_operand(const Node& node, const TensorType& type) const;
  void add_root(ValueId value, Origin origin);
  void add_window(ValueId value, ValueId operand, bool same_object);
  void mark_written();
  void mark_read_by_steps();
  void mark_reshaped(const std::vector<bool>& reshapes);
  void find_stand_ins();
  void find_derived_symbols();
  void find_defined_symbols();

  const Graph& graph_;
  std::vector<at::Tensor> constants_;
  std::vector<Root> roots_;
  std::vector<std::optional<Place>> places_;       // by ValueId
  std::vector<std::vector<size_t>> buffer_roots_;  // by BufferId
  std::vector<Input> tensor_inputs_, integer_inputs_;
  std::vector<StandIn> stand_ins_;
  std::vector<DerivedSymbol> derived_symbols_;
  std::vector<std::vector<DefinedSymbol>> defined_symbols_;  // by NodeId
  std::vector<std::string> late_symbols_;
  bool writes_inputs_ = false;
  int64_t arena_bytes_ = 0;
};

}  // namespace anabranch::torch_backend
