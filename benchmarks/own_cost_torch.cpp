// Own cost of the torch backend: planned memory, `out=` variants, the kernel of one ATen operator
// replaced by an empty one. What is left is the way from our list to the kernel and back.
//
// `bare` is the least that any caller pays: the same boxed kernel with its operands copied to a
// stack, in a loop. `operators/S` is a call with 1000 operators on each of S streams, `call` one
// with a single operator; both from the input checks to the tuple of outputs.
#include <ATen/ops/ones.h>
#include <benchmark/benchmark.h>
#include <torch/library.h>

#include <vector>

#include "anabranch/backends/torch/out_variant.h"
#include "anabranch/ir/text.h"
#include "anabranch/torch_ops/program_class.h"
#include "benchmarks/chains.h"

namespace anabranch::benchmarks {
namespace {

constexpr int kLength = 1000;
constexpr const char* kOperator = "aten.hypot.default";

at::Tensor& nothing(const at::Tensor&, const at::Tensor&, at::Tensor& out) { return out; }

TORCH_LIBRARY_IMPL(aten, CPU, library) { library.impl("hypot.out", nothing); }

class Model {
 public:
  Model(int streams, int length, const char* options)
      : program_(print_graph(make_chains(kOperator, streams, length)), options, {}),
        input_(at::ones({8})) {}

  void run() { benchmark::DoNotOptimize(program_.run({input_}, {})); }

 private:
  torch_ops::ProgramClass program_;
  at::Tensor input_;
};

void per_operator(benchmark::State& state, int64_t count) {
  state.counters["per_operator"] =
      benchmark::Counter(static_cast<double>(count), benchmark::Counter::kIsIterationInvariantRate |
                                                         benchmark::Counter::kInvert);
}

void bare(benchmark::State& state) {
  auto handle = c10::Dispatcher::singleton().findSchemaOrThrow("aten::hypot", "out");
  auto kernel = handle.getComputedKernelForDispatchKey(c10::DispatchKey::CPU);
  c10::DispatchKeySet keys(c10::DispatchKey::CPU);
  torch::jit::Stack operands{at::ones({8}), at::ones({8}), at::ones({8})}, stack;
  stack.reserve(8);
  for (auto _ : state) {
    for (int i = 0; i < kLength; ++i) {
      stack.insert(stack.end(), operands.begin(), operands.end());
      kernel.callBoxed(handle, keys, &stack);
      stack.clear();
    }
  }
  per_operator(state, kLength);
}
BENCHMARK(bare);

void call(benchmark::State& state) {
  Model model(static_cast<int>(state.range(0)), 1, R"({"fold": false})");
  for (auto _ : state) model.run();
}
BENCHMARK(call)->Arg(1);
BENCHMARK(call)->Arg(2)->UseRealTime();

void operators(benchmark::State& state) {
  Model model(static_cast<int>(state.range(0)), kLength, R"({"fold": false})");
  for (auto _ : state) model.run();
  per_operator(state, kLength);
}
BENCHMARK(operators)->Arg(1);
BENCHMARK(operators)->Arg(2)->UseRealTime();

}  // namespace
}  // namespace anabranch::benchmarks

BENCHMARK_MAIN();
