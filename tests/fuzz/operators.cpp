#include "tests/fuzz/operators.h"

#include <cstdlib>
#include <set>
#include <variant>

#include "anabranch/ir/uses.h"

namespace anabranch::fuzz {
namespace {

std::vector<int64_t> read(const ReferenceWindow& window) {
  std::vector<int64_t> elements;
  for (size_t i = 0; i < window.count(); ++i) elements.push_back(window.at(i));
  return elements;
}

void write(const ReferenceWindow& window, const std::vector<int64_t>& elements) {
  for (size_t i = 0; i < window.count(); ++i) window.at(i) = elements.at(i);
}

void add_random_resources(const Graph& graph, std::set<std::string>& resources) {
  for (const Node& node : graph.nodes) {
    for (const Effect& effect : node.effects) {
      if (effect.kind == EffectKind::Random) resources.insert(effect.resource);
    }
    for (const auto& body : node.bodies) add_random_resources(*body, resources);
  }
}

/// Runs one body in program order on copies of its operands, and copies them back if it may write
/// them: exactly the uses that ir/uses.h states for a control operator.
class Body {
 public:
  Body(ReferenceCall& call, const Graph& graph, size_t first_operand)
      : call_(call),
        graph_(graph),
        first_operand_(first_operand),
        kernels_(kernels().load(graph, {})) {
    for (const Node& node : graph.nodes) {
      if (node.kind == NodeKind::Input) inputs_.push_back(graph.value(node.results[0]).name);
    }
  }

  /// The elements of the body's outputs.
  std::vector<std::vector<int64_t>> run() {
    std::unique_ptr<CallValues> made = kernels_->make_values();
    auto& values = static_cast<ReferenceValues&>(*made);
    std::set<std::string> resources;
    add_random_resources(graph_, resources);
    for (const std::string& resource : resources)
      values.generators[resource] = call_.values().generators.at(resource);
    for (size_t i = 0; i < inputs_.size(); ++i)
      values.set(inputs_[i], read(call_.input(first_operand_ + i)));
    kernels_->on_thread(values, [&](Launcher& launcher) {
      for (size_t i = 0; i < graph_.nodes.size(); ++i) {
        if (graph_.nodes[i].kind == NodeKind::Operator) launcher.launch(NodeId(i), 0);
      }
    });
    for (const std::string& resource : resources)
      call_.values().generators.at(resource) = values.generators.at(resource);
    for (const std::string& line : values.log) call_.values().log.push_back(line);
    if (bodies_write_inputs(call_.node())) {
      for (size_t i = 0; i < inputs_.size(); ++i)
        write(call_.input(first_operand_ + i), values.get(inputs_[i]));
    }
    std::vector<std::vector<int64_t>> outputs;
    for (const Argument& output : graph_.outputs)
      outputs.push_back(values.get(graph_.value(std::get<ValueId>(output.value)).name));
    return outputs;
  }

 private:
  ReferenceCall& call_;
  const Graph& graph_;
  size_t first_operand_;
  std::unique_ptr<LoadedKernels> kernels_;
  std::vector<std::string> inputs_;
};

void set_results(ReferenceCall& call, const std::vector<std::vector<int64_t>>& outputs) {
  for (size_t i = 0; i < call.node().results.size(); ++i) write(call.result(i), outputs.at(i));
}

int64_t first_of(const ReferenceWindow& window) { return window.count() > 0 ? window.at(0) : 0; }

void cond(ReferenceCall& call) {
  size_t chosen = first_of(call.input(0)) % 2 != 0 ? 0 : 1;
  set_results(call, Body(call, *call.node().bodies.at(chosen), 1).run());
}

void loop(ReferenceCall& call) {
  int64_t rounds = 1 + std::abs(first_of(call.input(0)) % 3);
  std::vector<std::vector<int64_t>> outputs;
  for (int64_t i = 0; i < rounds; ++i) outputs = Body(call, *call.node().bodies.at(0), 0).run();
  set_results(call, outputs);
}

void item(ReferenceCall& call) {
  call.values().symbols.at(call.text(1)) = std::abs(first_of(call.input(0)) % 5);
}

void start(ReferenceCall& call) { call.result(0); }

void finish(ReferenceCall& call) { write(call.input(0), read(call.also_read(0))); }

}  // namespace

ReferenceKernels kernels() {
  ReferenceKernels kernels;
  kernels.define("fuzz.cond", cond);
  kernels.define("fuzz.loop", loop);
  kernels.define("fuzz.item", item);
  kernels.define("fuzz.start", start);
  kernels.define("fuzz.finish", finish);
  return kernels;
}

}  // namespace anabranch::fuzz
