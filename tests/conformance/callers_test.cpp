// Reuse of a context, several callers at once, calls inside calls.
#include <fmt/format.h>

#include <thread>

#include "tests/conformance/suite.h"

namespace anabranch::testing {
namespace {

class Callers : public Conformance {};
INSTANTIATE_CONFORMANCE(Callers);

constexpr const char* kGraph =
    "%x = input : i64[2] @b0\n"
    "%a = ref.add(%x, %x) : i64[2] @b1\n"
    "%b = ref.mul(%x, %x) : i64[2] @b2\n"
    "%c = ref.add(%a, %b) : i64[2] @b3\n"
    "return %c";
constexpr const char* kSchedule =
    "stream 0 \"\" { launch ^a; wait e0; launch ^c }\n"
    "stream 1 \"1\" { launch ^b; record e0 }\n"
    "buffer b1 acquire ^a release ^c\n"
    "buffer b2 acquire ^b release ^c";

TEST_P(Callers, AContextIsReused) {
  Harness harness(device_, kGraph, kSchedule);
  Harness::Session session(harness);
  for (int64_t i = 0; i < 500; ++i) {
    EXPECT_EQ(session.run({{"x", {i, -i}}}).values["c"], (Elements{2 * i + i * i, -2 * i + i * i}));
  }
}

void call_from_threads(const std::vector<const Harness*>& harnesses, int threads, int calls) {
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int t = 0; t < threads; ++t) {
    callers.emplace_back([&, t] {
      const Harness& harness = *harnesses[static_cast<size_t>(t) % harnesses.size()];
      Harness::Session session(harness);
      for (int64_t i = 0; i < calls; ++i) {
        Outcome outcome = session.run({{"x", {i, t}}});
        if (outcome.values["c"] != Elements{2 * i + i * i, 2 * t + int64_t{t} * t}) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(Callers, ManyThreadsCallOneProgram) {
  Harness harness(device_, kGraph, kSchedule);
  call_from_threads({&harness}, 6, 100);
}

TEST_P(Callers, ManyThreadsCallDifferentProgramsOnTheSameWorkers) {
  // the same labels, needed in opposite orders
  Harness forward(device_, kGraph,
                  "stream 0 \"\" { wait e1; launch ^c }\n"
                  "stream 1 \"left\" { launch ^a; record e0 }\n"
                  "stream 2 \"right\" { wait e0; launch ^b; record e1 }");
  Harness backward(device_, kGraph,
                   "stream 0 \"\" { wait e1; launch ^c }\n"
                   "stream 1 \"right\" { launch ^a; record e0 }\n"
                   "stream 2 \"left\" { wait e0; launch ^b; record e1 }");
  call_from_threads({&forward, &backward}, 6, 100);
}

TEST_P(Callers, ADeviceKnowsThatItIsInsideACall) {
  std::atomic<int> inside{0};
  ReferenceKernels kernels;
  kernels.define("test.inside", [&](ReferenceCall& call) {
    if (device_->inside_call()) ++inside;
    call.result(0).at(0) = 0;
  });
  Harness harness(device_,
                  "%a = test.inside() : i64[1] @b0\n"
                  "%b = test.inside() : i64[1] @b1\n"
                  "return %a, %b",
                  "stream 0 \"\" { launch ^a }\nstream 1 \"1\" { launch ^b }", kernels);
  EXPECT_FALSE(device_->inside_call());
  harness.run();
  EXPECT_EQ(inside, 2);
  EXPECT_FALSE(device_->inside_call());
}

TEST_P(Callers, AnOperatorCanRunAOneStreamScheduleInside) {
  // the inner program's operators run on the worker of the outer operator
  Harness inner(device_, kGraph, "stream 0 \"\" { launch ^a; launch ^b; launch ^c }");
  ReferenceKernels kernels;
  kernels.define("test.nested", [&](ReferenceCall& call) {
    ReferenceWindow x = call.input(0);
    Elements c = inner.run({{"x", {x.at(0), x.at(1)}}}).values["c"];
    ReferenceWindow out = call.result(0);
    for (size_t i = 0; i < 2; ++i) out.at(i) = c[i];
  });
  Harness outer(device_,
                "%x = input : i64[2] @b0\n"
                "%a = test.nested(%x) : i64[2] @b1\n"
                "%b = test.nested(%x) : i64[2] @b2\n"
                "%c = ref.add(%a, %b) : i64[2] @b3\n"
                "return %c",
                "stream 0 \"\" { launch ^a; wait e0; launch ^c }\n"
                "stream 1 \"1\" { launch ^b; record e0 }",
                kernels);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(outer.run({{"x", {1, 2}}}).values["c"], (Elements{6, 16}));
}

TEST_P(Callers, AnExclusiveOperatorRunsAlone) {
  std::atomic<int> running{0}, most{0};
  ReferenceKernels kernels;
  auto watch = [&](ReferenceCall& call) {
    bool exclusive = call.node().op == "test.exclusive";
    int now = ++running;
    if (exclusive) most = std::max(most.load(), now);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    if (exclusive) most = std::max(most.load(), running.load());
    --running;
  };
  kernels.define("test.exclusive", watch);
  kernels.define("test.shared", watch);
  std::string graph, one, two;
  for (int i = 0; i < 10; ++i) {
    graph +=
        fmt::format("^s{} test.shared()\n^x{} test.exclusive()\n^t{} test.shared()\n", i, i, i);
    one += fmt::format("launch ^s{}; ", i);
    two += fmt::format("launch ^x{} exclusive; launch ^t{}; ", i, i);
  }
  Harness harness(device_, graph + "return",
                  "stream 0 \"\" { " + one + "}\nstream 1 \"1\" { " + two + "}", kernels);
  harness.run();
  EXPECT_EQ(most, 1);
}

}  // namespace
}  // namespace anabranch::testing
