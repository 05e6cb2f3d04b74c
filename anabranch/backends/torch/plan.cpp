#include "anabranch/backends/torch/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "anabranch/base/diagnostic.h"
#include "anabranch/ir/step.h"
#include "anabranch/ir/uses.h"

namespace anabranch::torch_backend {
namespace {

const std::string* symbol_name(const Expr& expr, std::vector<std::string>& scratch) {
  scratch.clear();
  expr.collect_symbols(scratch);
  if (scratch.size() != 1 || !(expr == Expr::symbol(scratch[0]))) return nullptr;
  return &scratch[0];
}

}  // namespace

ValuePlan::ValuePlan(const Graph& graph, std::vector<at::Tensor> constants,
                     const std::vector<bool>& reshapes, const std::vector<bool>& kept,
                     const MemoryLayout& layout)
    : graph_(graph),
      constants_(std::move(constants)),
      places_(graph.values.size()),
      buffer_roots_(graph.buffer_count),
      arena_bytes_(layout.arena_bytes) {
  for (const Node& node : graph.nodes) place_results(node);
  size_t wanted = 0;
  for (const Root& root : roots_) wanted += root.origin == Origin::Constant;
  if (wanted != constants_.size()) {
    throw Error("bad-constants", fmt::format("the graph has {} constants, {} tensors were given",
                                             wanted, constants_.size()));
  }
  for (Root& root : roots_) {
    root.placement = layout.of(root.buffer);
    root.kept = kept[root.buffer.index()];
  }
  mark_written();
  mark_reshaped(reshapes);
  mark_read_by_steps();
  find_stand_ins();
  find_derived_symbols();
  find_defined_symbols();
}

void ValuePlan::mark_reshaped(const std::vector<bool>& reshapes) {
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (!reshapes[i]) continue;
    for (ValueId value : graph_.nodes[i].writes) roots_[place(value).root].reshaped = true;
  }
  for (size_t i = 0; i < places_.size(); ++i) {
    if (!places_[i]) continue;
    Root& root = roots_[places_[i]->root];
    bool other = !places_[i]->geometry.same_elements(root.geometry);
    root.viewed = root.viewed || other;
    places_[i]->window = other || (root.reshaped && root.value != ValueId(i));
  }
  // What changes the tensor object of the user's program gets that object, also under a later name.
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (!reshapes[i]) continue;
    for (ValueId value : graph_.nodes[i].writes) {
      Place& changed = *places_[value.index()];
      if (changed.same_object == roots_[changed.root].value) changed.window = false;
    }
  }
}

void ValuePlan::find_stand_ins() {
  std::vector<std::optional<StandIn>> found(roots_.size());
  for (size_t i = 0; i < roots_.size(); ++i) {
    const Root& root = roots_[i];
    if (root.origin != Origin::Input || root.kept || root.reshaped || !root.geometry.is_static())
      continue;
    found[i] = StandIn{i, byte_range(root.geometry.type()), 1};
  }
  for (const std::optional<Place>& place : places_) {
    if (!place || !found[place->root] || !place->geometry.is_static()) continue;
    StandIn& stand_in = *found[place->root];
    const TensorType& type = place->geometry.type();
    ByteRange range = byte_range(type);
    if (range.empty()) continue;
    if (stand_in.reach.empty()) stand_in.reach = range;
    stand_in.reach.begin = std::min(stand_in.reach.begin, range.begin);
    stand_in.reach.end = std::max(stand_in.reach.end, range.end);
    stand_in.alignment = std::max(stand_in.alignment, static_cast<int64_t>(size_of(type.dtype)));
  }
  for (std::optional<StandIn>& stand_in : found) {
    if (stand_in) stand_ins_.push_back(*stand_in);
  }
}

void ValuePlan::mark_read_by_steps() {
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (!step::is_step(graph_.nodes[i].op)) continue;
    for (ValueId value : graph_.value_operands(NodeId(i))) roots_[place(value).root].viewed = true;
  }
}

void ValuePlan::place_results(const Node& node) {
  for (ValueId value : node.results) {
    const TensorType* type = graph_.value(value).tensor();
    if (node.kind == NodeKind::Input) {
      if (type) add_root(value, Origin::Input);
      (type ? tensor_inputs_ : integer_inputs_)
          .push_back(Input{value, roots_.size() - (type ? 1 : 0)});
      continue;
    }
    if (!type) continue;
    if (node.kind == NodeKind::Constant) {
      add_root(value, Origin::Constant);
      continue;
    }
    ValueId operand = aliased_operand(node, *type);
    const std::vector<size_t>& known = buffer_roots_[type->buffer.index()];
    if (operand.valid()) {
      add_window(value, operand, node.kind != NodeKind::View);
    } else if (!known.empty()) {
      add_window(value, roots_[known[0]].value, false);
    } else if (node.kind == NodeKind::Operator) {
      add_root(value, Origin::Result);
    } else {
      throw Error("bad-view", fmt::format("{} shows buffer b{}, which none of its operands has",
                                          describe(node), type->buffer.index()));
    }
  }
}

ValueId ValuePlan::aliased_operand(const Node& node, const TensorType& type) const {
  ValueId found;
  auto consider = [&](ValueId candidate) {
    const TensorType* other = graph_.value(candidate).tensor();
    if (!other || other->buffer != type.buffer) return;
    if (!found.valid() || (*other == type && !(*graph_.value(found).tensor() == type)))
      found = candidate;
  };
  for (ValueId value : node.writes) consider(value);
  if (found.valid()) return found;
  for (const Operand& operand : node.operands) for_each_value(operand.value, consider);
  return found;
}

void ValuePlan::add_root(ValueId value, Origin origin) {
  const TensorType& type = *graph_.value(value).tensor();
  Geometry geometry(type);
  places_[value.index()] = Place{roots_.size(), false, value, geometry};
  buffer_roots_[type.buffer.index()].push_back(roots_.size());
  roots_.push_back(Root{value, type.buffer, origin, geometry});
}

void ValuePlan::add_window(ValueId value, ValueId operand, bool same_object) {
  const Place& from = place(operand);
  places_[value.index()] = Place{from.root, true, same_object ? from.same_object : value,
                                 Geometry(*graph_.value(value).tensor())};
}

void ValuePlan::mark_written() {
  for (const Node& node : graph_.nodes) {
    for (ValueId value : node.writes) {
      if (!graph_.value(value).tensor()) continue;
      // Inputs of one buffer may be one memory: all of them change.
      for (size_t root : roots_of(graph_.value(value).tensor()->buffer)) {
        roots_[root].written = true;
        writes_inputs_ = writes_inputs_ || roots_[root].origin != Origin::Result;
      }
    }
  }
}

void ValuePlan::find_derived_symbols() {
  std::vector<std::string> known, scratch;
  for (const Input& input : integer_inputs_) {
    if (const std::string* name = symbol_name(graph_.value(input.value).host()->value, scratch)) {
      known.push_back(*name);
    }
  }
  auto derive = [&](const std::vector<Expr>& exprs, size_t input, bool stride) {
    for (size_t d = 0; d < exprs.size(); ++d) {
      const std::string* name = symbol_name(exprs[d], scratch);
      if (!name || std::find(known.begin(), known.end(), *name) != known.end()) continue;
      derived_symbols_.push_back(DerivedSymbol{*name, input, d, stride});
      known.push_back(*name);
    }
  };
  for (size_t i = 0; i < tensor_inputs_.size(); ++i) {
    const TensorType& type = *graph_.value(tensor_inputs_[i].value).tensor();
    derive(type.sizes, i, false);
    derive(type.strides, i, true);
  }
}

namespace {

/// The symbols that the result at one position defines when they are not known yet.
std::vector<ValuePlan::DefinedSymbol> symbols_of_result(const Type& type, size_t result) {
  using Part = ValuePlan::DefinedSymbol::Part;
  std::vector<ValuePlan::DefinedSymbol> found;
  std::vector<std::string> scratch;
  auto add = [&](const Expr& expr, Part part, size_t dimension) {
    if (const std::string* name = symbol_name(expr, scratch)) {
      found.push_back({*name, result, part, dimension});
    }
  };
  if (const auto* host = std::get_if<HostType>(&type)) {
    add(host->value, Part::Host, 0);
    return found;
  }
  const auto& tensor = std::get<TensorType>(type);
  for (size_t d = 0; d < tensor.sizes.size(); ++d) add(tensor.sizes[d], Part::Size, d);
  for (size_t d = 0; d < tensor.strides.size(); ++d) add(tensor.strides[d], Part::Stride, d);
  add(tensor.offset, Part::Offset, 0);
  return found;
}

}  // namespace

void ValuePlan::find_defined_symbols() {
  defined_symbols_.resize(graph_.nodes.size());
  std::unordered_set<std::string> known;
  std::vector<std::string> mentioned;
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    const Node& node = graph_.nodes[i];
    if (node.kind == NodeKind::WaitDependency) continue;
    mentioned.clear();
    for (ValueId value : node.results) {
      for_each_expr(graph_.value(value).type,
                    [&](const Expr& expr) { expr.collect_symbols(mentioned); });
    }
    if (node.kind == NodeKind::Input || node.kind == NodeKind::Constant) {
      known.insert(mentioned.begin(), mentioned.end());
      continue;
    }
    if (node.kind == NodeKind::Operator) {
      for (size_t r = 0; r < node.results.size(); ++r) {
        for (DefinedSymbol& symbol : symbols_of_result(graph_.value(node.results[r]).type, r)) {
          if (!known.insert(symbol.name).second) continue;
          late_symbols_.push_back(symbol.name);
          defined_symbols_[i].push_back(std::move(symbol));
        }
      }
    }
    for (const std::string& name : mentioned) {
      if (known.contains(name)) continue;
      throw Error(Diagnostic{Severity::Error,
                             "undefined-symbol",
                             fmt::format("operator {}: the size symbol {} has no definition that "
                                         "its results show",
                                         describe(node), name),
                             "give the size itself, not an expression of it, to some result",
                             {node.source}});
    }
  }
}

}  // namespace anabranch::torch_backend
