// Cuts the operators that can be fused into regions.
//
// Guarantees: a region's operators follow each other on their stream with no wait and no record
// between them, so nothing that another stream does in between can depend on one part of the region
// and be needed by another. What that says of streams is checked for program order, too: the steps
// of a region take the place of its last operator, so no launched operator between the first and
// the last may use what the region makes, nor change what it reads.
#include "anabranch/passes/regions.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "anabranch/ir/uses.h"
#include "anabranch/passes/dependencies.h"
#include "anabranch/passes/passes.h"
#include "anabranch/passes/super_kernel.h"

namespace anabranch::passes {
namespace {

constexpr size_t kMostOperators = 200;  // what compilers of regions do is not linear
constexpr size_t kMostBetween = 4096;   // bounds the search between first and last

class RegionFinder {
 public:
  RegionFinder(const Graph& graph, const Fusible& fusible)
      : graph_(graph),
        dependencies_(graph),
        uses_(graph),
        roots_(buffer_roots(graph)),
        users_(graph.values.size()),
        returned_(graph.values.size(), false),
        fusion_(graph.nodes.size(), Fusion::None),
        owner_(graph.nodes.size(), kNobody) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      for (ValueId value : graph.value_operands(NodeId(i))) add_user(value, NodeId(i));
      for (ValueId value : node.reads) add_user(value, NodeId(i));
      if (is_legal(NodeId(i))) fusion_[i] = fusible(node);
    }
    for (const Argument& output : graph.outputs) {
      for_each_value(output, [&](ValueId value) { returned_[value.index()] = true; });
    }
  }

  std::vector<Region> find() {
    Schedule schedule = place_events(graph_, nullptr);
    for (const StreamProgram& program : schedule.streams) {
      for (const Command& command : program.commands) {
        const auto* launch = std::get_if<Launch>(&command);
        if (!launch || !continues(launch->node)) end_run();
        if (!launch || fusion_[launch->node.index()] == Fusion::None) continue;
        run_.push_back(launch->node);
        if (fusion_[launch->node.index()] == Fusion::ByItself) end_run();
      }
      end_run();
    }
    std::sort(regions_.begin(), regions_.end(), [](const Region& a, const Region& b) {
      return a.operators.front() < b.operators.front();
    });
    return std::move(regions_);
  }

 private:
  static constexpr uint32_t kNobody = static_cast<uint32_t>(-1);

  void add_user(ValueId value, NodeId user) {
    std::vector<NodeId>& users = users_[value.index()];
    if (users.empty() || users.back() != user) users.push_back(user);
  }

  bool is_static_tensor(ValueId value) const {
    const TensorType* type = graph_.value(value).tensor();
    return type && type->is_static() && !type->conjugate && !type->negative &&
           !byte_range(*type).empty();
  }

  bool is_legal(NodeId id) const {
    const Node& node = graph_.node(id);
    bool functional = node.kind == NodeKind::Operator && node.writes.empty() &&
                      node.reads.empty() && node.effects.empty() && node.bodies.empty() &&
                      !node.results.empty() && !super_kernel_of(node);
    if (!functional) return false;
    bool told = std::any_of(node.control.begin(), node.control.end(), [](const ControlEdge& edge) {
      return edge.reason == ControlReason::User;
    });
    if (told) return false;
    std::vector<ValueId> operands = graph_.value_operands(id);
    return std::all_of(operands.begin(), operands.end(),
                       [&](ValueId value) { return is_static_tensor(value); }) &&
           std::all_of(node.results.begin(), node.results.end(), [&](ValueId value) {
             if (!is_static_tensor(value)) return false;
             const TensorType& type = *graph_.value(value).tensor();
             return roots_[type.buffer.index()] == value && type.offset.constant() == 0;
           });
  }

  bool continues(NodeId id) const {
    Fusion fusion = fusion_[id.index()];
    bool alone = fusion == Fusion::None || fusion == Fusion::ByItself;
    if (alone || run_.size() >= kMostOperators) return false;
    return run_.empty() || graph_.node(run_.front()).attributes == graph_.node(id).attributes;
  }

  /// Makes a region of each connected part of the run.
  void end_run() {
    std::vector<size_t> parent(run_.size());
    std::iota(parent.begin(), parent.end(), size_t{0});
    auto find = [&](size_t i) {
      while (parent[i] != i) i = parent[i] = parent[parent[i]];
      return i;
    };
    std::unordered_map<NodeId, size_t> place;
    for (size_t i = 0; i < run_.size(); ++i) {
      for (const Dependency& before : dependencies_.of(run_[i])) {
        auto found = place.find(before.from);
        if (found == place.end() || before.kind != DependencyKind::Data) continue;
        parent[find(i)] = find(found->second);
      }
      place.emplace(run_[i], i);
    }
    std::vector<std::vector<NodeId>> parts(run_.size());
    for (size_t i = 0; i < run_.size(); ++i) parts[find(i)].push_back(run_[i]);
    run_.clear();
    for (const std::vector<NodeId>& part : parts) {
      if (!part.empty()) consider(part);
    }
  }

  void consider(const std::vector<NodeId>& launched) {
    bool alone = std::any_of(launched.begin(), launched.end(), [&](NodeId node) {
      return fusion_[node.index()] != Fusion::WithOthers;
    });
    if (launched.size() < 2 && !alone) return;
    auto number = static_cast<uint32_t>(count_++);
    for (NodeId node : launched) owner_[node.index()] = number;
    Region region;
    for (NodeId node : launched) add(region, node, number);
    for (NodeId node : launched) {
      for (ValueId result : graph_.node(node).results) {
        if (is_needed_outside(result, number)) region.outputs.push_back(result);
      }
    }
    std::sort(region.operators.begin(), region.operators.end());
    if (!region.outputs.empty() && can_move(region, launched, number)) {
      regions_.push_back(std::move(region));
    } else {
      for (NodeId node : region.operators) owner_[node.index()] = kNobody;
    }
  }

  /// Adds a launched operator with the views before it.
  void add(Region& region, NodeId launched, uint32_t number) {
    std::vector<NodeId> work{launched};
    while (!work.empty()) {
      NodeId member = work.back();
      work.pop_back();
      region.operators.push_back(member);
      for (ValueId value : graph_.value_operands(member)) {
        NodeId producer = graph_.value(value).producer;
        if (owner_[producer.index()] == number) continue;
        if (shows_region(producer, number)) {
          owner_[producer.index()] = number;
          work.push_back(producer);
        } else if (std::find(region.inputs.begin(), region.inputs.end(), value) ==
                   region.inputs.end()) {
          region.inputs.push_back(value);
        }
      }
    }
  }

  /// True for a view, also of a view, of what the region makes.
  bool shows_region(NodeId id, uint32_t number) const {
    while (graph_.node(id).kind == NodeKind::View) {
      std::vector<ValueId> operands = graph_.value_operands(id);
      if (operands.empty()) return false;
      id = graph_.value(operands.front()).producer;
      if (owner_[id.index()] == number) return true;
    }
    return false;
  }

  /// The value itself or a view of it is returned, or used by an operator that is no member.
  bool is_needed_outside(ValueId result, uint32_t number) const {
    std::vector<ValueId> work{result};
    while (!work.empty()) {
      ValueId value = work.back();
      work.pop_back();
      if (returned_[value.index()]) return true;
      for (NodeId user : users_[value.index()]) {
        const Node& node = graph_.node(user);
        if (node.kind == NodeKind::View) {
          work.insert(work.end(), node.results.begin(), node.results.end());
        } else if (owner_[user.index()] != number) {
          return true;
        }
      }
    }
    return false;
  }

  bool is_static(const Region& region) const {
    auto fits = [&](ValueId value) { return is_static_tensor(value); };
    return std::all_of(region.inputs.begin(), region.inputs.end(), fits) &&
           std::all_of(region.operators.begin(), region.operators.end(), [&](NodeId id) {
             const std::vector<ValueId>& results = graph_.node(id).results;
             return std::all_of(results.begin(), results.end(), fits);
           });
  }

  bool can_move(const Region& region, const std::vector<NodeId>& launched, uint32_t number) const {
    size_t first = launched.front().index(), last = launched.back().index();
    if (last - first > kMostBetween || !is_static(region)) return false;
    std::unordered_set<BufferId> read;
    for (ValueId value : region.inputs) read.insert(graph_.value(value).tensor()->buffer);
    for (size_t i = first + 1; i < last; ++i) {
      const Node& node = graph_.nodes[i];
      if (!node.launches() || owner_[i] == number) continue;
      for (const Dependency& before : dependencies_.of(NodeId(i))) {
        if (owner_[before.from.index()] == number) return false;
      }
      for (const Use& use : uses_.of(NodeId(i))) {
        if (use.writes() && read.contains(use.buffer)) return false;
      }
    }
    return true;
  }

  const Graph& graph_;
  Dependencies dependencies_;
  UseTable uses_;
  std::vector<ValueId> roots_;              // by buffer
  std::vector<std::vector<NodeId>> users_;  // by ValueId
  std::vector<bool> returned_;              // by ValueId
  std::vector<Fusion> fusion_;              // by NodeId
  std::vector<uint32_t> owner_;             // by NodeId: number of its region
  std::vector<NodeId> run_;
  std::vector<Region> regions_;
  size_t count_ = 0;
};

}  // namespace

std::vector<Region> find_regions(const Graph& graph, const Fusible& fusible) {
  return RegionFinder(graph, fusible).find();
}

}  // namespace anabranch::passes
