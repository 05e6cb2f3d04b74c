#include "anabranch/ir/uses.h"

#include <fmt/format.h>

#include <algorithm>

namespace anabranch {

ByteRange byte_range(const TensorType& type) {
  if (!type.is_static()) return ByteRange::whole();
  int64_t low = type.offset.constant(), high = low;
  for (size_t i = 0; i < type.sizes.size(); ++i) {
    int64_t size = type.sizes[i].constant();
    if (size == 0) return {0, 0};
    int64_t reach = (size - 1) * type.strides[i].constant();
    (reach < 0 ? low : high) += reach;
  }
  auto bytes = static_cast<int64_t>(size_of(type.dtype));
  return {low * bytes, (high + 1) * bytes};
}

std::vector<ValueId> buffer_roots(const Graph& graph) {
  std::vector<ValueId> roots(graph.buffer_count);
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const TensorType* type = graph.values[i].tensor();
    if (type && !roots[type->buffer.index()].valid()) roots[type->buffer.index()] = ValueId(i);
  }
  return roots;
}

UseTable::UseTable(const Graph& graph)
    : graph_buffers_(graph.buffer_count), buffer_count_(graph.buffer_count) {
  std::vector<bool> made(graph.buffer_count, false);
  auto resource = [&](const Effect& effect) {
    auto found = std::find(resources_.begin(), resources_.end(), effect);
    if (found == resources_.end()) found = resources_.insert(resources_.end(), effect);
    return BufferId(graph_buffers_ + static_cast<size_t>(found - resources_.begin()));
  };
  first_.reserve(graph.nodes.size() + 1);
  for (const Node& node : graph.nodes) {
    first_.push_back(uses_.size());
    bool launched = node.kind == NodeKind::Operator;
    if (launched) {
      auto add = [&](ValueId value, Access access) {
        if (const TensorType* type = graph.value(value).tensor()) {
          uses_.push_back(Use{type->buffer, byte_range(*type), access, value});
        }
      };
      for (const Operand& operand : node.operands) {
        for_each_value(operand.value, [&](ValueId value) {
          bool written = std::find(node.writes.begin(), node.writes.end(), value) != node.writes.end();
          if (!written) add(value, Access::Read);
        });
      }
      for (ValueId value : node.writes) add(value, Access::Update);
      for (const Effect& effect : node.effects) {
        uses_.push_back(Use{resource(effect), ByteRange::whole(), Access::Update, ValueId{}});
      }
    }
    for (ValueId value : node.results) {
      const TensorType* type = graph.value(value).tensor();
      if (!type || made[type->buffer.index()]) continue;
      made[type->buffer.index()] = true;
      if (launched) uses_.push_back(Use{type->buffer, ByteRange::whole(), Access::Write, value});
    }
  }
  first_.push_back(uses_.size());
  buffer_count_ = graph_buffers_ + resources_.size();
}

std::span<const Use> UseTable::of(NodeId node) const {
  size_t begin = first_[node.index()], end = first_[node.index() + 1];
  return {uses_.data() + begin, end - begin};
}

std::string UseTable::describe(const Graph& graph, BufferId buffer) const {
  if (is_resource(buffer)) {
    const Effect& effect = resources_[buffer.index() - graph_buffers_];
    switch (effect.kind) {
      case EffectKind::Random: return fmt::format("the random generator \"{}\"", effect.resource);
      case EffectKind::Collective: return fmt::format("the process group \"{}\"", effect.resource);
      case EffectKind::Io: return fmt::format("the output \"{}\"", effect.resource);
    }
  }
  for (const Value& value : graph.values) {
    const TensorType* type = value.tensor();
    if (type && type->buffer == buffer) return fmt::format("buffer b{} (%{})", buffer.index(), value.name);
  }
  return fmt::format("buffer b{}", buffer.index());
}

}  // namespace anabranch
