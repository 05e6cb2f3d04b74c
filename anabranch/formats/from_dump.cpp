#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "anabranch/base/lexer.h"
#include "anabranch/formats/convert.h"
#include "anabranch/formats/ge_types.h"

namespace anabranch::formats {
namespace {

constexpr size_t kMaxFindings = 20;
constexpr int64_t kMaxResults = 1 << 16;  // of one operator: a larger number is a broken input

bool is_output(const DumpOp& op) { return op.type == "NetOutput"; }

/// Which operator each input comes from, and the order that GE's Send and Recv pairs add.
class DumpEdges {
 public:
  /// Throws Error with every duplicate name and unknown producer.
  explicit DumpEdges(const DumpGraph& dump) : dump_(dump), extra_(dump.ops.size()) {
    check_names();
    for (const DumpOp& op : dump.ops) {
      for (const DumpInput& input : op.inputs) check_input(op, input);
    }
    if (findings_.size() > kMaxFindings) findings_.resize(kMaxFindings);
    if (!findings_.empty()) throw Error(std::move(findings_));
    pair_events();
  }

  /// The operator of that name, which an input refers to.
  size_t index_of(const std::string& name) const { return index_.find(name)->second; }
  std::optional<size_t> find(const std::string& name) const {
    auto found = index_.find(name);
    return found == index_.end() ? std::nullopt : std::optional(found->second);
  }
  /// Operators before `op` that no input names.
  const std::vector<size_t>& extra(size_t op) const { return extra_[op]; }

  template <class Visit>
  void for_each_predecessor(size_t op, Visit&& visit) const {
    for (const DumpInput& input : dump_.ops[op].inputs) {
      if (!input.producer.empty()) visit(index_of(input.producer));
    }
    for (size_t before : extra_[op]) visit(before);
  }

 private:
  void check_names() {
    for (size_t i = 0; i < dump_.ops.size(); ++i) {
      if (index_.emplace(dump_.ops[i].name, i).second) continue;
      findings_.push_back({Severity::Error,
                           "duplicate-name",
                           fmt::format("two operators are named '{}'", dump_.ops[i].name),
                           "inputs refer to operators by name: rename one",
                           {}});
    }
  }

  void check_input(const DumpOp& op, const DumpInput& input) {
    if (input.producer.empty()) return;
    auto found = index_.find(input.producer);
    if (found == index_.end()) {
      findings_.push_back(
          {Severity::Error,
           "unknown-producer",
           fmt::format("'{}' ({}) reads '{}', which the dump does not contain", op.name, op.type,
                       input.producer),
           "only a whole graph can be scheduled or verified; `inspect` and `draw` take parts",
           {}});
    } else if (!input.control() &&
               (input.index > kMaxResults || is_output(dump_.ops[found->second]))) {
      findings_.push_back({Severity::Error,
                           "bad-input",
                           fmt::format("'{}' ({}) reads '{}:{}', which is no result of an operator",
                                       op.name, op.type, input.producer, input.index),
                           {},
                           {}});
    }
  }

  void pair_events() {
    auto event_of = [](const DumpOp& op) -> const int64_t* {
      auto found = op.attributes.find("event_id");
      return found == op.attributes.end() ? nullptr : std::get_if<int64_t>(&found->second);
    };
    std::unordered_map<int64_t, size_t> sends;
    for (size_t i = 0; i < dump_.ops.size(); ++i) {
      if (const int64_t* event = event_of(dump_.ops[i]); event && dump_.ops[i].type == "Send")
        sends[*event] = i;
    }
    for (size_t i = 0; i < dump_.ops.size(); ++i) {
      const int64_t* event = event_of(dump_.ops[i]);
      if (!event || dump_.ops[i].type != "Recv") continue;
      if (auto send = sends.find(*event); send != sends.end()) extra_[i].push_back(send->second);
    }
  }

  const DumpGraph& dump_;
  std::vector<Diagnostic> findings_;
  std::unordered_map<std::string, size_t> index_;
  std::vector<std::vector<size_t>> extra_;
};

/// Names one cycle among the operators that could not be sorted.
[[noreturn]] void throw_cycle(const DumpGraph& dump, const DumpEdges& edges,
                              const std::vector<size_t>& waiting) {
  size_t op = static_cast<size_t>(
      std::find_if(waiting.begin(), waiting.end(), [](size_t n) { return n > 0; }) -
      waiting.begin());
  std::vector<size_t> path;
  std::unordered_map<size_t, size_t> seen;
  while (seen.emplace(op, path.size()).second) {
    path.push_back(op);
    size_t next = op;
    edges.for_each_predecessor(op, [&](size_t before) {
      if (waiting[before] > 0) next = before;
    });
    op = next;
  }
  std::string text = fmt::format("'{}'", dump.ops[op].name);
  size_t first = seen[op];
  for (size_t i = path.size(); i-- > first;) {
    if (path.size() - i > kMaxFindings) {
      text += " → …";
      break;
    }
    text += fmt::format(" → '{}'", dump.ops[path[i]].name);
  }
  throw Error("cycle", "data and waits run in a circle: " + text,
              "drop one of these inputs; loops must be control operators with bodies");
}

/// Positions in an order where producers come first; the order of the file wins between others.
std::vector<size_t> sorted(const DumpGraph& dump, const DumpEdges& edges) {
  size_t count = dump.ops.size();
  std::vector<size_t> waiting(count, 0);
  std::vector<std::vector<size_t>> users(count);
  for (size_t i = 0; i < count; ++i) {
    edges.for_each_predecessor(i, [&](size_t before) {
      users[before].push_back(i);
      ++waiting[i];
    });
  }
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < count; ++i) {
    if (waiting[i] == 0) ready.push(i);
  }
  std::vector<size_t> order;
  while (!ready.empty()) {
    size_t op = ready.top();
    ready.pop();
    order.push_back(op);
    for (size_t user : users[op]) {
      if (--waiting[user] == 0) ready.push(user);
    }
  }
  if (order.size() < count) throw_cycle(dump, edges, waiting);
  return order;
}

/// "f16[4](2)+1 @b3 view of w:0": the type, and whose memory it shares.
struct Memory {
  Type type;
  bool view = false;
  std::string producer;  // empty: memory of its own
  size_t index = 0;
};

Memory parse_memory(const DumpOp& op, std::string_view text) {
  Memory memory;
  std::string_view source;
  for (std::string_view word : {" view of ", " in "}) {
    size_t at = text.find(word);
    if (at == std::string_view::npos) continue;
    memory.view = word == " view of ";
    source = text.substr(at + word.size());
    text = text.substr(0, at);
    break;
  }
  Lexer lexer(text, fmt::format("the attribute {} of '{}'", keys::kMemory, op.name));
  memory.type = parse_type(lexer);
  if (lexer.peek().kind != TokenKind::End) lexer.fail("text after the type");
  if (size_t colon = source.rfind(':'); colon != std::string_view::npos) {
    memory.producer = source.substr(0, colon);
    memory.index = static_cast<size_t>(std::strtoull(source.data() + colon + 1, nullptr, 10));
  }
  return memory;
}

class GraphBuilder {
 public:
  explicit GraphBuilder(const DumpGraph& dump)
      : dump_(dump), edges_(dump), result_count_(dump.ops.size(), 0) {}

  Graph build() {
    graph_.name = dump_.name;
    node_of_op_.resize(dump_.ops.size());
    count_results();
    for (const DumpOp& op : dump_.ops) value_names_.insert(op.name);
    for (size_t index : sorted(dump_, edges_)) {
      if (is_output(dump_.ops[index])) {
        add_outputs(dump_.ops[index]);
      } else {
        add(index);
      }
    }
    return std::move(graph_);
  }

 private:
  void count_results() {
    for (size_t i = 0; i < dump_.ops.size(); ++i)
      result_count_[i] = dump_.ops[i].output_descs.size();
    for (const DumpOp& op : dump_.ops) {
      for (const DumpInput& input : op.inputs) {
        if (input.control() || input.producer.empty()) continue;
        size_t& count = result_count_[edges_.index_of(input.producer)];
        count = std::max(count, static_cast<size_t>(input.index) + 1);
      }
    }
  }

  /// Invalid for an absent input.
  ValueId value_of(const DumpInput& input) const {
    if (input.producer.empty()) return ValueId{};
    const Node& producer = graph_.node(node_of_op_[edges_.index_of(input.producer)]);
    return producer.results[static_cast<size_t>(input.index)];
  }

  static Argument argument(ValueId value) {
    Argument::Storage storage;
    if (value.valid()) storage = value;
    return Argument(std::move(storage));
  }

  void add(size_t index) {
    const DumpOp& op = dump_.ops[index];
    Node node;
    node.name = op.name;
    node.op = op.type;
    std::vector<Memory> memory = take_memory(op);
    node.kind = kind_of(op, memory);
    if (node.kind == NodeKind::Input) node.op = "input";
    if (node.kind == NodeKind::Constant) node.op = "constant";
    if (node.kind == NodeKind::Wait) node.op = "wait";
    std::vector<ValueId> inputs;
    for (const DumpInput& input : op.inputs) {
      if (input.control()) continue;
      inputs.push_back(value_of(input));
      node.operands.push_back({"", argument(inputs.back())});
    }
    if (!node.launches() && node.kind != NodeKind::View) node.operands.clear();
    add_control(index, node);
    take_attributes(op, inputs, node);
    NodeId id{graph_.nodes.size()};
    node_of_op_[index] = id;
    graph_.add_node(std::move(node));
    add_results(index, id, inputs, memory);
  }

  static NodeKind kind_of(const DumpOp& op, const std::vector<Memory>& memory) {
    if (is_data_type(op.type)) {
      bool constant = op.type.find("Const") != std::string::npos;
      return constant ? NodeKind::Constant : NodeKind::Input;
    }
    if (!memory.empty() && memory[0].view) return NodeKind::View;
    size_t data = 0, control = 0;
    for (const DumpInput& input : op.inputs) ++(input.control() ? control : data);
    bool wait = op.type == "Identity" && data == 1 && control > 0 && !op.inputs[0].producer.empty();
    return wait ? NodeKind::Wait : NodeKind::Operator;
  }

  static std::vector<Memory> take_memory(const DumpOp& op) {
    std::vector<Memory> memory;
    auto found = op.attributes.find(keys::kMemory);
    if (found == op.attributes.end()) return memory;
    const auto* texts = std::get_if<std::vector<std::string>>(&found->second);
    if (!texts) throw bad_attribute(op, keys::kMemory, "a list of strings");
    for (const std::string& text : *texts) {
      memory.push_back(text.empty() ? Memory{TensorType{}, false, {}, kDescribed}
                                    : parse_memory(op, text));
    }
    return memory;
  }

  static Error bad_attribute(const DumpOp& op, std::string_view key, std::string_view expected) {
    return Error("bad-attribute",
                 fmt::format("'{}' ({}): {} must be {}", op.name, op.type, key, expected));
  }

  // A user's wait may be there for its own sake; every other control edge keeps effects in order.
  void add_control(size_t index, Node& node) {
    ControlReason reason =
        node.kind == NodeKind::Wait ? ControlReason::User : ControlReason::Effect;
    auto add = [&](size_t before, ControlReason why) {
      if (!is_output(dump_.ops[before])) node.control.push_back({node_of_op_[before], why});
    };
    if (node.kind == NodeKind::Input || node.kind == NodeKind::Constant) return;
    for (const DumpInput& input : dump_.ops[index].inputs) {
      if (input.control() && !input.producer.empty()) add(edges_.index_of(input.producer), reason);
    }
    for (size_t before : edges_.extra(index)) add(before, ControlReason::User);
  }

  static void take_attributes(const DumpOp& op, const std::vector<ValueId>& inputs, Node& node) {
    node.attributes = op.attributes;
    node.attributes.erase(std::string(keys::kMemory));
    if (auto found = op.attributes.find(anabranch::keys::kWrites); found != op.attributes.end()) {
      const auto* written = std::get_if<std::vector<int64_t>>(&found->second);
      if (!written) throw bad_attribute(op, anabranch::keys::kWrites, "a list of input numbers");
      for (int64_t input : *written) {
        bool known =
            input >= 0 && input < static_cast<int64_t>(inputs.size()) && inputs[input].valid();
        if (!known)
          throw bad_attribute(op, anabranch::keys::kWrites, "a list of numbers of data inputs");
        node.writes.push_back(inputs[input]);
      }
      node.attributes.erase(std::string(anabranch::keys::kWrites));
    }
    take_effects(op, node);
    if (const std::string* source = find_string(op.attributes, keys::kSource)) {
      node.source = parse_source(*source);
      if (node.source.known()) node.attributes.erase(std::string(keys::kSource));
    }
    if (node.kind == NodeKind::Input || node.kind == NodeKind::Constant) return;
    // "" takes the place of a user's label, too: the operator was put on the default stream.
    std::string key(anabranch::keys::kStreamLabel), label = stream_label(op);
    if (!label.empty() || node.attributes.contains(key)) node.attributes[key] = label;
  }

  static void take_effects(const DumpOp& op, Node& node) {
    auto found = op.attributes.find(keys::kEffects);
    if (found == op.attributes.end()) return;
    const auto* texts = std::get_if<std::vector<std::string>>(&found->second);
    if (!texts) throw bad_attribute(op, keys::kEffects, "a list of strings");
    for (const std::string& text : *texts) {
      size_t space = text.find(' ');
      bool known = false;
      for (EffectKind kind : {EffectKind::Random, EffectKind::Collective, EffectKind::Io}) {
        if (space == std::string::npos || text.substr(0, space) != to_string(kind)) continue;
        node.effects.push_back({kind, text.substr(space + 1)});
        known = true;
      }
      if (!known) throw bad_attribute(op, keys::kEffects, "of the form \"random <generator>\"");
    }
    node.attributes.erase(std::string(keys::kEffects));
  }

  static SourceLocation parse_source(const std::string& text) {
    SourceLocation source;
    size_t in = text.rfind(" in ");
    std::string place = text.substr(0, in);
    size_t colon = place.rfind(':');
    if (colon == std::string::npos) return source;
    source.line = std::atoi(place.c_str() + colon + 1);
    source.file = place.substr(0, colon);
    if (in != std::string::npos) source.function = text.substr(in + 4);
    return source;
  }

  void add_results(size_t index, NodeId id, const std::vector<ValueId>& inputs,
                   const std::vector<Memory>& memory) {
    const DumpOp& op = dump_.ops[index];
    for (size_t i = 0; i < result_count_[index]; ++i) {
      bool told = i < memory.size() && memory[i].index != kDescribed;
      Type type = told ? told_type(op, memory[i]) : described_type(op, i, graph_.node(id), inputs);
      std::string name =
          result_count_[index] == 1 ? op.name : fresh_value_name(fmt::format("{}.{}", op.name, i));
      graph_.add_result(id, std::move(name), std::move(type));
    }
  }

  std::string fresh_value_name(std::string name) {
    while (!value_names_.insert(name).second) name += '_';
    return name;
  }

  Type told_type(const DumpOp& op, const Memory& memory) {
    Type type = memory.type;
    auto* tensor = std::get_if<TensorType>(&type);
    if (!tensor) return type;
    tensor->buffer = BufferId(graph_.buffer_count);
    if (memory.producer.empty()) return type;
    const TensorType* root = nullptr;
    if (auto found = edges_.find(memory.producer)) {
      NodeId node = node_of_op_[*found];
      if (node.valid() && memory.index < graph_.node(node).results.size()) {
        root = graph_.value(graph_.node(node).results[memory.index]).tensor();
      }
    }
    if (!root) throw bad_attribute(op, keys::kMemory, "about the result of an earlier operator");
    tensor->buffer = root->buffer;
    return type;
  }

  /// A written operand is what the operator returns, a wait is its operand under another name;
  /// everything else is a dense tensor of its own.
  Type described_type(const DumpOp& op, size_t index, const Node& node,
                      const std::vector<ValueId>& inputs) {
    const TensorType* source = nullptr;
    if (node.kind == NodeKind::Wait && index == 0) source = graph_.value(inputs[0]).tensor();
    if (node.kind == NodeKind::Operator && index < node.writes.size()) {
      source = graph_.value(node.writes[index]).tensor();
    }
    if (source) return *source;
    TensorType type;
    type.buffer = BufferId(graph_.buffer_count);
    type.dtype = DType::U8;
    bool ranked = index < op.output_descs.size();
    if (ranked) {
      const DumpTensor& tensor = op.output_descs[index];
      if (auto dtype = from_ge_dtype(tensor.dtype)) type.dtype = *dtype;
      ranked = std::find(tensor.shape.begin(), tensor.shape.end(), -2) == tensor.shape.end();
      for (int64_t size : tensor.shape) {
        if (ranked) type.sizes.push_back(size < 0 ? unknown_size() : Expr(size));
      }
    }
    if (!ranked) type.sizes = {unknown_size()};
    type.strides = contiguous_strides(type.sizes);
    return type;
  }

  Expr unknown_size() { return Expr::symbol(fmt::format("unknown{}", unknown_sizes_++)); }

  void add_outputs(const DumpOp& op) {
    for (const DumpInput& input : op.inputs) {
      if (!input.control()) graph_.outputs.push_back(argument(value_of(input)));
    }
  }

  static constexpr size_t kDescribed =
      static_cast<size_t>(-1);  // Memory::index: see the descriptor

  const DumpGraph& dump_;
  DumpEdges edges_;
  Graph graph_;
  std::vector<NodeId> node_of_op_;
  std::vector<size_t> result_count_;
  std::unordered_set<std::string> value_names_;
  size_t unknown_sizes_ = 0;
};

}  // namespace

Graph from_dump(const DumpGraph& dump) { return GraphBuilder(dump).build(); }

}  // namespace anabranch::formats
