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

namespace {

void append_effects(const Node& node, std::vector<Effect>& effects) {
  for (const Effect& effect : node.effects) {
    if (std::find(effects.begin(), effects.end(), effect) == effects.end())
      effects.push_back(effect);
  }
  for (const auto& body : node.bodies) {
    for (const Node& inner : body->nodes) append_effects(inner, effects);
  }
}

bool writes_inputs(const Graph& body) {
  std::vector<bool> given(body.buffer_count, false);
  auto buffer_of = [&](ValueId value) {
    const TensorType* type = body.value(value).tensor();
    return type ? type->buffer : BufferId{};
  };
  for (const Node& node : body.nodes) {
    if (node.kind == NodeKind::Input) {
      for (ValueId value : node.results) {
        if (BufferId buffer = buffer_of(value); buffer.valid()) given[buffer.index()] = true;
      }
    }
    for (ValueId value : node.writes) {
      if (BufferId buffer = buffer_of(value); buffer.valid() && given[buffer.index()]) return true;
    }
    if (bodies_write_inputs(node)) return true;
  }
  return false;
}

}  // namespace

bool bodies_write_inputs(const Node& node) {
  return std::any_of(node.bodies.begin(), node.bodies.end(),
                     [](const std::shared_ptr<Graph>& body) { return writes_inputs(*body); });
}

UseTable::UseTable(const Graph& graph)
    : graph_buffers_(graph.buffer_count),
      buffer_count_(graph.buffer_count),
      roots_(buffer_roots(graph)) {
  first_.reserve(graph.nodes.size() + 1);
  for (const Node& node : graph.nodes) {
    first_.push_back(uses_.size());
    if (node.kind == NodeKind::Operator) add_operator(graph, node);
  }
  first_.push_back(uses_.size());
  buffer_count_ = graph_buffers_ + resources_.size();
}

void UseTable::add_operator(const Graph& graph, const Node& node) {
  auto add = [&](ValueId value, Access access) {
    if (const TensorType* type = graph.value(value).tensor()) {
      uses_.push_back(Use{type->buffer, byte_range(*type), access, value});
    }
  };
  Access operand_access = bodies_write_inputs(node) ? Access::Update : Access::Read;
  for (const Operand& operand : node.operands) {
    for_each_value(operand.value, [&](ValueId value) {
      bool written = std::find(node.writes.begin(), node.writes.end(), value) != node.writes.end();
      if (!written) add(value, operand_access);
    });
  }
  for (ValueId value : node.writes) add(value, Access::Update);
  for (ValueId value : node.reads) add(value, Access::Read);
  std::vector<Effect> effects;
  append_effects(node, effects);
  for (const Effect& effect : effects) {
    uses_.push_back(Use{resource(effect), ByteRange::whole(), Access::Update, ValueId{}});
  }
  for (ValueId value : node.results) {
    const TensorType* type = graph.value(value).tensor();
    if (type && roots_[type->buffer.index()] == value) {
      uses_.push_back(Use{type->buffer, ByteRange::whole(), Access::Write, value});
    }
  }
}

BufferId UseTable::resource(const Effect& effect) {
  auto found = std::find(resources_.begin(), resources_.end(), effect);
  if (found == resources_.end()) found = resources_.insert(resources_.end(), effect);
  return BufferId(graph_buffers_ + static_cast<size_t>(found - resources_.begin()));
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
  ValueId root = roots_[buffer.index()];
  if (root.valid()) return fmt::format("buffer b{} (%{})", buffer.index(), graph.value(root).name);
  return fmt::format("buffer b{}", buffer.index());
}

}  // namespace anabranch
