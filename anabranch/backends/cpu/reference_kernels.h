// Torch-free kernels for tests: exact 64-bit integers in every element, whatever the dtype says,
// over the real strided windows of the graph, with checks that catch a wrong order of execution.
//
//   ref.fill(v)  ref.iota(first)  ref.add(a,b)  ref.sub(a,b)  ref.mul(a,b)  ref.sum(a)
//   ref.split2(a) ref.fill_(a,v)  ref.copy_(a,b)  ref.add_(a,b)  ref.mul_(a,b)    with writes(a)
//   ref.rand()    with effects(random "…"): the next number of the call's generator
//   ref.print(a)  with effects(io "…"): appends the elements to the call's log
//   ref.sleep(microseconds, [a])  ref.throw("message", …)  (a result copies `a`, or is 0)
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "anabranch/runtime/kernel.h"

namespace anabranch {

/// The values of one call. Nothing here is atomic where the schedule must order it, so that the
/// thread sanitizer reports an unordered access.
class ReferenceValues : public CallValues {
 public:
  /// Inputs and constants before the first launch, in the elements' logical order; results before
  /// clear(). Values go by their name in the graph. Throws Error ("unknown-value").
  void set(std::string_view value, const std::vector<int64_t>& elements);
  std::vector<int64_t> get(std::string_view value) const;

  /// What ref.print wrote, in the order in which it ran.
  std::vector<std::string> log;
  /// States of the graph's random generators, by resource: 0 or set before the call, advanced by
  /// it.
  std::map<std::string, uint64_t> generators;
  /// What must never happen: "b3 released twice", "b3 used after its release".
  std::vector<std::string> violations() const;
  /// How often a buffer was released since the last clear().
  int releases(BufferId buffer) const { return buffers_[buffer.index()].releases; }

 private:
  friend class LoadedReferenceKernels;
  friend class ReferenceCall;
  struct Buffer {
    std::vector<int64_t> own;
    std::span<int64_t> elements;  // `own`, or a part of the arena
    bool made = false;
    int releases = 0;
  };
  void make(BufferId buffer);
  void violate(std::string what) const;

  const Graph* graph_ = nullptr;
  const MemoryLayout* layout_ = nullptr;
  std::vector<Buffer> buffers_;
  std::vector<int64_t> arena_;
  mutable std::mutex violations_mutex_;
  mutable std::vector<std::string> violations_;
};

/// A window on a buffer of the call, element by element in logical order.
struct ReferenceWindow {
  int64_t* base = nullptr;
  std::vector<int64_t> sizes, strides;

  size_t count() const;
  int64_t& at(size_t i) const;
};

/// One launch as an operator's code sees it. Throws Error ("bad-argument") that names the operator.
class ReferenceCall {
 public:
  ReferenceCall(const Graph& graph, NodeId node, ReferenceValues& values);

  const Node& node() const { return node_; }
  ReferenceValues& values() { return values_; }
  size_t operand_count() const { return node_.operands.size(); }
  bool is_value(size_t operand) const;
  int64_t integer(size_t operand) const;
  std::string text(size_t operand) const;
  ReferenceWindow input(size_t operand);
  /// What the node `reads` beside its operands.
  ReferenceWindow also_read(size_t index);
  /// Makes the result's buffer if no earlier operator made it.
  ReferenceWindow result(size_t index);

 private:
  ReferenceWindow window(ValueId value);
  [[noreturn]] void fail(const std::string& message) const;

  const Graph& graph_;
  const Node& node_;
  ReferenceValues& values_;
};

using ReferenceOperator = std::function<void(ReferenceCall&)>;

class ReferenceKernels : public KernelSet {
 public:
  ReferenceKernels();
  /// Adds or replaces an operator: "test.nested". Before load().
  void define(std::string name, ReferenceOperator code);
  /// Buffers of 64-bit integers: elements have that size whatever the dtype says.
  std::vector<bool> placeable(const Graph& graph) const override;
  /// The graph must outlive the kernels.
  std::unique_ptr<LoadedKernels> load(const Graph& graph, const MemoryLayout& layout) override;

 private:
  std::map<std::string, ReferenceOperator, std::less<>> operators_;
};

}  // namespace anabranch
