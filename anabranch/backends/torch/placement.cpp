#include "anabranch/backends/torch/placement.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "anabranch/backends/torch/bind.h"
#include "anabranch/backends/torch/out_variant.h"
#include "anabranch/ir/step.h"
#include "anabranch/ir/uses.h"

namespace anabranch::torch_backend {
namespace {

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph), roots_(buffer_roots(graph)) {}

  std::vector<bool> kept() {
    std::vector<bool> kept(graph_.buffer_count, false);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (node.kind != NodeKind::Operator || !may_keep(node)) continue;
      mark(graph_.value_operands(NodeId(i)), kept);
      mark(node.reads, kept);
    }
    return kept;
  }

  std::vector<bool> placeable() {
    std::vector<bool> placeable(graph_.buffer_count, false), kept_too = kept();
    for (const Node& node : graph_.nodes) {
      if (makes_into(node)) mark(node.results, placeable);
    }
    for (size_t b = 0; b < placeable.size(); ++b) placeable[b] = placeable[b] && !kept_too[b];
    return placeable;
  }

 private:
  struct Facts {
    bool out_variant = false;  // makes its results in memory that it is given
    bool reshapes = false;
  };

  const Facts& facts_of(const Node& node) {
    auto [entry, added] = facts_.try_emplace(node.op);
    if (!added) return entry->second;
    if (step::is_step(node.op)) entry->second.out_variant = true;
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

  void mark(const std::vector<ValueId>& values, std::vector<bool>& buffers) const {
    for (ValueId value : values) {
      if (const TensorType* type = graph_.value(value).tensor())
        buffers[type->buffer.index()] = true;
    }
  }

  const Graph& graph_;
  std::vector<ValueId> roots_;                    // by buffer
  std::unordered_map<std::string, Facts> facts_;  // by operator
};

}  // namespace

std::vector<bool> kept_buffers(const Graph& graph) { return Finder(graph).kept(); }

std::vector<bool> placeable_buffers(const Graph& graph) { return Finder(graph).placeable(); }

}  // namespace anabranch::torch_backend
