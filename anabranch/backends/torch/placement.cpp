#include "anabranch/backends/torch/placement.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "anabranch/backends/torch/bind.h"
#include "anabranch/backends/torch/out_variant.h"
#include "anabranch/ir/uses.h"

namespace anabranch::torch_backend {
namespace {

class Finder {
 public:
  explicit Finder(const Graph& graph)
      : graph_(graph), roots_(buffer_roots(graph)), placeable_(graph.buffer_count, false) {}

  std::vector<bool> find() {
    for (const Node& node : graph_.nodes) {
      if (makes_into(node)) set(node.results, true);
    }
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (node.kind != NodeKind::Operator || !may_keep(node)) continue;
      set(graph_.value_operands(NodeId(i)), false);
      set(node.reads, false);
    }
    return std::move(placeable_);
  }

 private:
  struct Facts {
    bool out_variant = false;
    bool reshapes = false;
  };

  const Facts& facts_of(const Node& node) {
    auto [entry, added] = facts_.try_emplace(node.op);
    if (!added) return entry->second;
    if (auto handle = find_operator(node)) {
      entry->second = {find_out_variant(*handle).has_value(),
                       handle->hasTag(at::Tag::inplace_view)};
    }
    return entry->second;
  }

  bool makes_into(const Node& node) {
    bool plain = node.kind == NodeKind::Operator && node.bodies.empty() && node.effects.empty() &&
                 node.writes.empty() && !node.results.empty() && !is_foreign(node);
    return plain &&
           std::all_of(node.results.begin(), node.results.end(),
                       [&](ValueId value) { return is_new_and_known(value); }) &&
           facts_of(node).out_variant;
  }

  bool is_new_and_known(ValueId value) const {
    const TensorType* type = graph_.value(value).tensor();
    if (!type || roots_[type->buffer.index()] != value || !type->is_static()) return false;
    bool empty = byte_range(*type).empty();
    return !empty && type->offset.constant() == 0 && !type->conjugate && !type->negative;
  }

  bool may_keep(const Node& node) {
    if (!node.bodies.empty() || is_foreign(node) || facts_of(node).reshapes) return true;
    return std::any_of(node.effects.begin(), node.effects.end(),
                       [](const Effect& effect) { return effect.kind != EffectKind::Random; });
  }

  void set(const std::vector<ValueId>& values, bool placeable) {
    for (ValueId value : values) {
      if (const TensorType* type = graph_.value(value).tensor())
        placeable_[type->buffer.index()] = placeable;
    }
  }

  const Graph& graph_;
  std::vector<ValueId> roots_;  // by buffer
  std::vector<bool> placeable_;
  std::unordered_map<std::string, Facts> facts_;  // by operator
};

}  // namespace

std::vector<bool> placeable_buffers(const Graph& graph) { return Finder(graph).find(); }

}  // namespace anabranch::torch_backend
