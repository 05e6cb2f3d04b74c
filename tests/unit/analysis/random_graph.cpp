#include "tests/unit/analysis/random_graph.h"

#include <string>

namespace anabranch::testing_support {
namespace {

constexpr int64_t kElements = 64;

class Maker {
 public:
  Maker(uint64_t seed, const RandomGraphOptions& options) : random_(seed), options_(options) {
    graph_.name = "random";
  }

  Graph make() {
    for (size_t i = 0; i < options_.inputs; ++i) {
      bool shares = i > 0 && chance(20);
      size_t buffer = shares ? pick(graph_.buffer_count) : graph_.buffer_count;
      finish(begin("input", NodeKind::Input), window(BufferId(buffer), 0, kElements));
    }
    while (graph_.nodes.size() < options_.nodes) add_node();
    for (size_t i = 0; i < 3; ++i) graph_.outputs.push_back(Argument(pick_value()));
    return std::move(graph_);
  }

 private:
  size_t pick(size_t count) { return random_() % count; }
  bool chance(int percent) { return static_cast<int>(random_() % 100) < percent; }
  /// Mostly recent values, so that graphs are deep as well as wide.
  ValueId pick_value() {
    size_t count = graph_.values.size();
    return chance(60) ? ValueId(count - 1 - pick(std::min<size_t>(count, 6)))
                      : ValueId(pick(count));
  }

  static TensorType window(BufferId buffer, int64_t offset, int64_t size) {
    return TensorType{DType::F32, {size}, {1}, offset, buffer};
  }
  const TensorType& tensor(ValueId value) const { return *graph_.value(value).tensor(); }

  Node begin(const std::string& op, NodeKind kind) {
    Node node;
    node.op = op;
    node.kind = kind;
    node.name = op + "_" + std::to_string(graph_.nodes.size());
    size_t label = pick(options_.labels + 1);
    bool launched = kind == NodeKind::Operator || kind == NodeKind::Wait;
    if (launched && label > 0) {
      node.attributes.emplace(keys::kStreamLabel, "s" + std::to_string(label));
    }
    return node;
  }

  void finish(Node node, TensorType type) {
    NodeId id(graph_.nodes.size());
    std::string name = node.name;
    graph_.add_node(std::move(node));
    graph_.add_result(id, name, std::move(type));
  }

  void add_node() {
    ValueId x = pick_value();
    if (chance(20)) return add_view(x);
    if (chance(15)) return add_wait(x);
    bool in_place = chance(25);
    Node node = begin(in_place ? "add_" : "add", NodeKind::Operator);
    node.operands.push_back({"", Argument(x)});
    if (chance(50)) {
      ArgumentList others(1);
      others[0].value = pick_value();
      node.operands.push_back({"other", Argument(std::move(others))});
    }
    if (in_place) node.writes.push_back(x);
    if (chance(8)) node.effects.push_back({EffectKind::Random, chance(50) ? "cpu" : "mine"});
    finish(std::move(node),
           in_place ? tensor(x) : window(BufferId(graph_.buffer_count), 0, kElements));
  }

  void add_view(ValueId x) {
    Node node = begin("slice", NodeKind::View);
    node.operands.push_back({"", Argument(x)});
    TensorType type = tensor(x);
    int64_t size = type.sizes[0].constant(), half = std::max<int64_t>(1, size / 2);
    if (chance(50)) type.offset = type.offset.constant() + size - half;
    type.sizes[0] = half;
    finish(std::move(node), type);
  }

  void add_wait(ValueId x) {
    ValueId dependency = pick_value();
    Node wait = begin("wait", NodeKind::Wait);
    wait.wait_number = waits_;
    wait.operands.push_back({"", Argument(x)});
    finish(std::move(wait), tensor(x));
    Node marker = begin("wait_dependency", NodeKind::WaitDependency);
    marker.wait_number = waits_++;
    marker.operands.push_back({"", Argument(dependency)});
    graph_.add_node(std::move(marker));
  }

  std::mt19937_64 random_;
  RandomGraphOptions options_;
  Graph graph_;
  int64_t waits_ = 0;
};

}  // namespace

Graph random_graph(uint64_t seed, const RandomGraphOptions& options) {
  return Maker(seed, options).make();
}

}  // namespace anabranch::testing_support
