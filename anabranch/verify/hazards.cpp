#include "anabranch/verify/hazards.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

namespace anabranch::verify {
namespace {

class HazardChecker {
 public:
  HazardChecker(const Graph& graph, const UseTable& uses, const Schedule& schedule,
                const Replay& replay, std::vector<Diagnostic>& findings)
      : graph_(graph), uses_(uses), schedule_(schedule), replay_(replay), findings_(findings) {}

  void run() {
    check_memory();
    check_data();
    check_control();
  }

 private:
  struct Past {
    NodeId node;
    Use use;
  };
  struct History {  // of one buffer: the uses that a later use may still have to come after
    std::vector<Past> writes, reads;
    size_t writes_left = 0;
  };

  void check_memory() {
    std::vector<History> histories(uses_.buffer_count());
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (const Use& use : uses_.of(NodeId(i)))
        histories[use.buffer.index()].writes_left += use.writes();
    }
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      NodeId id(i);
      for (const Use& use : uses_.of(id)) check_use(id, use, histories[use.buffer.index()]);
      for (const Use& use : uses_.of(id)) remember(id, use, histories[use.buffer.index()]);
    }
  }

  void check_use(NodeId id, const Use& use, const History& history) {
    for (const Past& past : history.writes) require_order(past, id, use);
    if (!use.writes()) return;
    for (const Past& past : history.reads) require_order(past, id, use);
  }

  void require_order(const Past& past, NodeId id, const Use& use) {
    if (past.node == id || !conflicts(past.use, use)) return;
    const char* rule = uses_.is_resource(use.buffer) ? "order-effect"
                       : !use.writes()               ? "race-raw"
                       : past.use.writes()           ? "race-waw"
                                                     : "race-war";
    require(rule, past.node, id, [&] {
      std::string what = uses_.describe(graph_, use.buffer);
      if (uses_.is_resource(use.buffer)) return "both use " + what;
      return fmt::format("the first {} {} and the second {} it",
                         past.use.writes() ? "writes" : "reads", what,
                         use.writes() ? "writes" : "reads");
    });
  }

  /// Forgets what the new use stands for: a later use that conflicts with a use inside the range of
  /// a write conflicts with that write too, and must come after both; likewise for a write after
  /// reads that one later read covers.
  void remember(NodeId id, const Use& use, History& history) {
    if (use.writes()) {
      --history.writes_left;
      auto covered = [&](const Past& past) { return use.range.contains(past.use.range); };
      std::erase_if(history.writes, covered);
      std::erase_if(history.reads, covered);
      if (!use.range.empty()) history.writes.push_back({id, use});
    } else if (history.writes_left > 0 && !use.range.empty()) {
      std::erase_if(history.reads, [&](const Past& past) {
        return use.range.contains(past.use.range) && launched(past.node, id) &&
               replay_.before(past.node, id);
      });
      history.reads.push_back({id, use});
    }
  }

  /// Results that are read, through views and size arithmetic too, and size symbols.
  void check_data() {
    std::vector<std::vector<NodeId>> behind(graph_.nodes.size());  // of views and sizes
    std::unordered_map<std::string, NodeId> symbols;               // by whom they are made
    std::vector<std::string> names;
    std::vector<NodeId> sources;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      NodeId id(i);
      const Node& node = graph_.nodes[i];
      sources.clear();
      auto add_symbols = [&](const Expr& expr) {
        names.clear();
        if (!expr.is_constant()) expr.collect_symbols(names);
        for (const std::string& name : names) {
          auto maker = symbols.find(name);
          if (maker != symbols.end() && graph_.node(maker->second).launches()) {
            sources.push_back(maker->second);
          }
        }
      };
      auto define_symbols = [&](const Expr& expr) {
        names.clear();
        if (!expr.is_constant()) expr.collect_symbols(names);
        for (const std::string& name : names) symbols.emplace(name, id);
      };
      for (const Operand& operand : node.operands) {
        for_each_value(operand.value, [&](ValueId value) {
          NodeId producer = graph_.value(value).producer;
          if (graph_.node(producer).launches()) sources.push_back(producer);
          sources.insert(sources.end(), behind[producer.index()].begin(),
                         behind[producer.index()].end());
        });
        for_each_expr(operand.value, add_symbols);
      }
      for (ValueId result : node.results) {
        const Type& type = graph_.value(result).type;
        for_each_expr(type, add_symbols);
        if (node.launches() || node.kind == NodeKind::Input) for_each_expr(type, define_symbols);
      }
      std::erase(sources, id);
      if (!node.launches()) {
        std::sort(sources.begin(), sources.end());
        sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
        behind[i] = sources;
        continue;
      }
      for (NodeId source : sources) {
        require("order-data", source, id, [] { return "the second reads what the first makes"; });
      }
    }
  }

  void check_control() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (!node.launches()) continue;
      for (const ControlEdge& edge : node.control) {
        if (!graph_.node(edge.from).launches()) continue;
        bool user = edge.reason == ControlReason::User;
        require(user ? "order-wait" : "order-effect", edge.from, NodeId(i), [&] {
          return user ? "the second waits for the first" : "their effects have an order";
        });
      }
    }
  }

  bool launched(NodeId a, NodeId b) const { return replay_.launched(a) && replay_.launched(b); }

  template <class Reason>
  void require(const char* rule, NodeId first, NodeId second, Reason reason) {
    if (!launched(first, second) || replay_.before(first, second)) return;
    if (!reported_.emplace(first, second).second) return;
    const Node& a = graph_.node(first);
    const Node& b = graph_.node(second);
    size_t stream_a = replay_.place(first).stream, stream_b = replay_.place(second).stream;
    std::string on_a = describe(schedule_.streams[stream_a].stream);
    std::string on_b = describe(schedule_.streams[stream_b].stream);
    Diagnostic finding;
    finding.rule = rule;
    finding.message = fmt::format(
        "{} on {} must complete before {} on {} starts, for {}, but {}", describe(a), on_a,
        describe(b), on_b, reason(),
        replay_.before(second, first) ? "they run the other way round" : "nothing orders them");
    finding.fix =
        stream_a == stream_b
            ? fmt::format("launch {} before {} on {}", a.name, b.name, on_a)
            : fmt::format("record an event after {} on {} and wait for it before {} on {}", a.name,
                          on_a, b.name, on_b);
    finding.related = {a.source, b.source};
    findings_.push_back(std::move(finding));
  }

  const Graph& graph_;
  const UseTable& uses_;
  const Schedule& schedule_;
  const Replay& replay_;
  std::vector<Diagnostic>& findings_;
  std::set<std::pair<NodeId, NodeId>> reported_;
};

}  // namespace

void check_hazards(const Graph& graph, const UseTable& uses, const Schedule& schedule,
                   const Replay& replay, std::vector<Diagnostic>& findings) {
  HazardChecker(graph, uses, schedule, replay, findings).run();
}

}  // namespace anabranch::verify
