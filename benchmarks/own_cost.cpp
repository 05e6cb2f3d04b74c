// Own cost of the torch-free runtime: what a call and an operator cost when the kernels do nothing.
//
// `call/S` is a call of one operator on each of S streams; `operators/S` runs 1000 operators on
// each of S streams, `per_operator` is the time of one of them. With one stream the CPU time
// counts, which a busy machine does not change; with several the time that passes, waking workers
// included. `operators_on_one_thread/S` has the graph of S streams on the calling thread alone.
#include <benchmark/benchmark.h>

#include <memory>

#include "anabranch/backends/cpu/cpu_device.h"
#include "anabranch/program/program.h"
#include "benchmarks/chains.h"
#include "benchmarks/empty_kernels.h"

namespace anabranch::benchmarks {
namespace {

constexpr int kLength = 1000;

std::unique_ptr<Program> make_program(int streams, int length) {
  passes::PipelineOptions options;
  options.cores = options.machine_cores = 2;
  EmptyKernels kernels;
  return std::make_unique<Program>(make_chains("none.none", streams, length), options, kernels,
                                   std::make_shared<CpuDevice>());
}

void call(benchmark::State& state) {
  auto program = make_program(static_cast<int>(state.range(0)), 1);
  for (auto _ : state) program->run({}, {});
}
BENCHMARK(call)->Arg(1);
BENCHMARK(call)->Arg(2)->Arg(4)->UseRealTime();

void per_operator(benchmark::State& state, int64_t count) {
  state.counters["per_operator"] =
      benchmark::Counter(static_cast<double>(count), benchmark::Counter::kIsIterationInvariantRate |
                                                         benchmark::Counter::kInvert);
}

void operators(benchmark::State& state) {
  auto program = make_program(static_cast<int>(state.range(0)), kLength);
  for (auto _ : state) program->run({}, {});
  per_operator(state, kLength);
}
BENCHMARK(operators)->Arg(1);
BENCHMARK(operators)->Arg(2)->Arg(4)->UseRealTime();

void operators_on_one_thread(benchmark::State& state) {
  auto program = make_program(static_cast<int>(state.range(0)), kLength);
  for (auto _ : state) program->run_serial({}, {});
  per_operator(state, kLength * state.range(0));
}
BENCHMARK(operators_on_one_thread)->Arg(4);

}  // namespace
}  // namespace anabranch::benchmarks

BENCHMARK_MAIN();
