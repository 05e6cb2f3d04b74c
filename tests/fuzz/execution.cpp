// Executed results against program order.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <map>
#include <random>

#include "anabranch/backends/cpu/cpu_device.h"
#include "anabranch/ir/text.h"
#include "anabranch/program/program.h"
#include "anabranch/runtime/adversary.h"
#include "tests/fuzz/checker.h"
#include "tests/fuzz/generator.h"
#include "tests/fuzz/operators.h"

namespace anabranch::fuzz {
namespace {

/// All that a caller can see of one call.
struct Outcome {
  std::map<std::string, std::vector<int64_t>> values;  // inputs and outputs, by name
  std::map<std::string, uint64_t> generators;
  std::vector<std::string> log;
  std::string failure;  // "node: message"

  bool operator==(const Outcome&) const = default;
};

std::string to_text(const Outcome& outcome) {
  std::string text;
  if (!outcome.failure.empty()) text += "  failure " + outcome.failure + "\n";
  for (const auto& [name, elements] : outcome.values)
    text += fmt::format("  %{} = {}\n", name, fmt::join(elements, " "));
  for (const auto& [name, state] : outcome.generators)
    text += fmt::format("  generator {} = {}\n", name, state);
  for (const std::string& line : outcome.log) text += "  printed " + line + "\n";
  return text;
}

size_t count_of(const TensorType& type, const SymbolTable& symbols) {
  size_t count = 1;
  for (const Expr& size : type.sizes) count *= static_cast<size_t>(size.evaluate(symbols));
  return count;
}

class Caller {
 public:
  Caller(const Graph& captured, uint64_t seed) : captured_(captured), seed_(seed) {}

  void bind(CallValues& call) const {
    auto& values = static_cast<ReferenceValues&>(call);
    std::vector<std::string> symbols;
    for (const Value& value : captured_.values)
      for_each_expr(value.type, [&](const Expr& expr) {
        if (!expr.is_constant()) expr.collect_symbols(symbols);
      });
    for (const std::string& symbol : symbols)
      values.symbols[symbol] = symbol[0] == 's' ? symbol_value(seed_, symbol) : 0;
    for (auto& [name, state] : values.generators) state = seed_ + name.size();
    for (const Value& value : captured_.values) {
      if (!given(value)) continue;
      size_t count = count_of(*value.tensor(), values.symbols);
      values.set(value.name, input_elements(seed_, value.name, count));
    }
  }

  Outcome collect(const CallValues& call) const {
    const auto& values = static_cast<const ReferenceValues&>(call);
    Outcome outcome{{}, values.generators, values.log, {}};
    for (const Value& value : captured_.values) {
      if (given(value)) outcome.values[value.name] = values.get(value.name);
    }
    for (const Argument& output : captured_.outputs) {
      for_each_value(output, [&](ValueId value) {
        const std::string& name = captured_.value(value).name;
        outcome.values[name] = values.get(name);
      });
    }
    if (!values.violations().empty())
      outcome.failure = fmt::format("{}", fmt::join(values.violations(), "; "));
    return outcome;
  }

  /// The captured graph, statement by statement, without any pass.
  Outcome interpret() const {
    std::unique_ptr<LoadedKernels> loaded = kernels().load(captured_, {});
    std::unique_ptr<CallValues> values = loaded->make_values();
    bind(*values);
    Outcome outcome;
    loaded->on_thread(*values, [&](Launcher& launcher) {
      for (size_t i = 0; i < captured_.nodes.size() && outcome.failure.empty(); ++i) {
        const Node& node = captured_.nodes[i];
        if (node.kind != NodeKind::Operator) continue;
        try {
          launcher.launch(NodeId(i), 0);
        } catch (const std::exception& error) {
          outcome.failure = fmt::format("{}: {}", node.name, error.what());
        }
      }
    });
    return outcome.failure.empty() ? collect(*values) : outcome;
  }

  Outcome run(Program& program, Observer* observer, bool serial = false) const {
    Outcome outcome;
    auto give = [&](CallValues& values) { bind(values); };
    auto take = [&](CallValues& values) { outcome = collect(values); };
    try {
      serial ? program.run_serial(give, take, observer) : program.run(give, take, observer);
    } catch (const OperatorError& error) {
      // What else the call had computed is not promised, only which failure it was.
      const Node& node = program.compiled().graph.node(error.failure().node);
      try {
        std::rethrow_exception(error.failure().error);
      } catch (const std::exception& original) {
        outcome.failure = fmt::format("{}: {}", node.name, original.what());
      }
    }
    return outcome;
  }

 private:
  bool given(const Value& value) const {
    NodeKind kind = captured_.node(value.producer).kind;
    return value.tensor() && (kind == NodeKind::Input || kind == NodeKind::Constant);
  }

  const Graph& captured_;
  uint64_t seed_;
};

/// Half of the programs as they are, the others with automatic streams of each kind and folding:
/// whatever the compiler decides, values stay.
passes::PipelineOptions decisions(uint64_t seed) {
  constexpr std::array kModes{"cv", "LoadBalance:2", "LoadBalance:7", "MainStream:3", "auto"};
  passes::PipelineOptions options;
  if (seed % 2 == 0) return options;
  options.auto_streams = passes::parse_auto_streams(kModes[seed / 2 % kModes.size()]);
  options.fold = seed / 2 % 3 != 0;
  options.cores = 1 + static_cast<int>(seed / 2 % 4);
  return options;
}

}  // namespace

std::optional<std::string> check_execution(const Graph& captured, const CheckOptions& options) {
  Caller caller(captured, options.seed);
  Outcome expected = caller.interpret();
  ReferenceKernels set = kernels();
  Program program(captured, decisions(options.seed), set, std::make_shared<CpuDevice>());
  auto differs = [&](const std::string& how, const Outcome& outcome) -> std::optional<std::string> {
    if (outcome == expected) return {};
    return fmt::format("{} gives\n{}program order gives\n{}{}", how, to_text(outcome),
                       to_text(expected), program.report());
  };
  if (auto problem = differs("one stream", caller.run(program, nullptr, true))) return problem;
  if (auto problem = differs("its streams", caller.run(program, nullptr))) return problem;
  for (int i = 0; i < options.adversaries; ++i) {
    uint64_t seed = options.seed * 64 + static_cast<uint64_t>(i);
    Adversary adversary(seed, options.longest_us);
    auto problem = differs(fmt::format("its streams with delays (seed {})", seed),
                           caller.run(program, &adversary));
    if (problem) return problem;
  }
  return {};
}

std::optional<std::string> check_program(const Graph& captured, const CheckOptions& options) {
  try {
    // Through text, as captured graphs come and bug reports go.
    std::string text = print_graph(captured);
    Graph graph = parse_graph(text);
    if (print_graph(graph) != text) return "the text form does not read back";
    if (auto problem = check_execution(graph, options)) return problem;
    return check_schedules(parse_graph(text), options);
  } catch (const std::exception& error) {
    return fmt::format("exception: {}", error.what());
  }
}

}  // namespace anabranch::fuzz
