// Whatever the streams, a program computes what its statements compute one after the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "anabranch/backends/cpu/cpu_device.h"
#include "anabranch/ir/text.h"
#include "anabranch/program/program.h"
#include "anabranch/runtime/adversary.h"
#include "tests/conformance/harness.h"
#include "tests/unit/program/random_program.h"

namespace anabranch::testing {
namespace {

struct Result {
  Named values;
  std::vector<std::string> log, violations;
};

const Named kInputs{{"x", {1, 2, 3, 4, 5, 6, 7, 8}}, {"y", {-1, 5, 0, 9}}};

void set_inputs(CallValues& values) {
  for (const auto& [name, elements] : kInputs)
    static_cast<ReferenceValues&>(values).set(name, elements);
}

Result read_result(const Graph& graph, const CallValues& values) {
  const auto& reference = static_cast<const ReferenceValues&>(values);
  Result result{{}, reference.log, reference.violations()};
  auto read = [&](const std::string& name) { result.values[name] = reference.get(name); };
  for (const Argument& output : graph.outputs) {
    for_each_value(output, [&](ValueId value) { read(graph.value(value).name); });
  }
  for (const auto& [name, elements] : kInputs) read(name);
  return result;
}

/// The captured graph, statement by statement, without any pass.
Result interpret(const Graph& graph) {
  std::unique_ptr<LoadedKernels> kernels = ReferenceKernels().load(graph);
  std::unique_ptr<CallValues> values = kernels->make_values();
  set_inputs(*values);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].kind == NodeKind::Operator) kernels->launch(NodeId(i), 0, *values);
  }
  return read_result(graph, *values);
}

void expect_equal(const Result& result, const Result& expected) {
  EXPECT_EQ(result.values, expected.values);
  EXPECT_EQ(result.log, expected.log);
  EXPECT_THAT(result.violations, ::testing::IsEmpty());
}

void check(uint64_t seed, int operators, int adversaries) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::string text = random_program(seed, operators);
  Graph graph = graph_of(text);
  Result expected = interpret(graph);
  ReferenceKernels kernels;
  Program program(graph, {}, kernels, std::make_shared<CpuDevice>());
  Result result;
  auto collect = [&](CallValues& values) {
    result = read_result(program.compiled().graph, values);
  };
  program.run(set_inputs, collect);
  expect_equal(result, expected);
  program.run_serial(set_inputs, collect);
  expect_equal(result, expected);
  for (int i = 0; i < adversaries; ++i) {
    Adversary adversary(seed * 100 + static_cast<uint64_t>(i), 300);
    program.run(set_inputs, collect, &adversary);
    expect_equal(result, expected);
  }
  if (::testing::Test::HasFailure()) ADD_FAILURE() << text << program.report();
}

TEST(RandomPrograms, SmallOnes) {
  for (uint64_t seed = 0; seed < 200 && !HasFailure(); ++seed) check(seed, 12, 2);
}

TEST(RandomPrograms, LargeOnes) {
  for (uint64_t seed = 1000; seed < 1100 && !HasFailure(); ++seed) check(seed, 60, 1);
}

}  // namespace
}  // namespace anabranch::testing
