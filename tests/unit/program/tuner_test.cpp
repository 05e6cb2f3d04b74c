// Tuning: the first calls are right like all others, it ends, and one stream wins where streams
// cannot pay.
#include "anabranch/program/tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "anabranch/backends/cpu/cpu_device.h"
#include "anabranch/backends/cpu/reference_kernels.h"
#include "anabranch/program/program.h"
#include "tests/unit/program/calls.h"

namespace anabranch::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kEnough = 64;  // calls after which every tuning has ended

std::unique_ptr<Program> tuned(const std::string& body, ReferenceKernels kernels = {},
                               bool fold = true) {
  passes::PipelineOptions options;
  options.cores = 2;
  options.fold = fold;
  return std::make_unique<Program>(graph_of(body), options, kernels, std::make_shared<CpuDevice>(),
                                   Tuning{.on = true, .time_file = ""});
}

// Two sleeps of a millisecond that can run side by side, one on stream `tag`.
std::string sleepers(const std::string& tag) {
  std::string label = " {\"_user_stream_label\": \"" + tag + "\"}";
  return "%x = input : i64[1] @b0\n%a = ref.add(%x, %x) : i64[1] @b1\n"
         "^s ref.sleep(1000) after(^a)\n%b = ref.mul(%x, %x)" +
         label + " : i64[1] @b2\n^t ref.sleep(1000) after(^b)" + label +
         "\n%c = ref.add(%a, %b) : i64[1] @b3\nreturn %c";
}

TEST(Tuner, EveryCallIsRightAndItEnds) {
  auto program = tuned(sleepers("one"));
  EXPECT_TRUE(program->tuning());
  int measured = 0;
  for (int64_t i = 0; i < kEnough; ++i) {
    EXPECT_EQ(call(*program, {i}, "c"), Elements{2 * i + i * i});
    measured += program->tuning();
  }
  EXPECT_FALSE(program->tuning());
  EXPECT_LT(measured, 40);
  ASSERT_TRUE(program->tuned());
  EXPECT_THAT(program->tuned()->message, HasSubstr("tune: "));
}

TEST(Tuner, StreamsThatPayAreKept) {
  auto program = tuned(sleepers("two"));
  for (int64_t i = 0; i < kEnough; ++i) call(*program, {i}, "c");
  ASSERT_TRUE(program->tuned());
  EXPECT_THAT(program->tuned()->message, ::testing::Not(HasSubstr("tune: one stream")));
}

// b waits for a, c for b: nothing can run beside anything
TEST(Tuner, ASerialProgramRunsOnOneStream) {
  std::thread::id ran_on;
  ReferenceKernels kernels;
  kernels.define("ref.where", [&](ReferenceCall&) { ran_on = std::this_thread::get_id(); });
  auto program = tuned(
      "^a ref.sleep(1)\n^b ref.where() after(^a) {\"_user_stream_label\": \"serial\"}\n"
      "^c ref.sleep(1) after(^b)\nreturn",
      std::move(kernels));
  for (int i = 0; i < kEnough; ++i) program->run({}, {});
  EXPECT_EQ(ran_on, std::this_thread::get_id());
  ASSERT_TRUE(program->tuned());
  EXPECT_THAT(program->report(), HasSubstr("tune: one stream with all cores"));
}

TEST(Tuner, NothingIsTunedWithoutAChoice) {
  EXPECT_FALSE(
      tuned("%x = input : i64[1] @b0\n%a = ref.add(%x, %x) : i64[1] @b1\nreturn %a")->tuning());
  EXPECT_FALSE(tuned(sleepers("three"), {}, /*fold=*/false)->tuning());
  ReferenceKernels kernels;
  kernels.define("mylib.wait", [](ReferenceCall&) {});
  EXPECT_FALSE(tuned("^a ref.sleep(1)\n^b mylib.wait() {\"_user_stream_label\": \"1\"}\nreturn",
                     std::move(kernels))
                   ->tuning());
}

TEST(Tuner, AFailedCallCountsForNothing) {
  int left = 3;
  ReferenceKernels kernels;
  kernels.define("ref.fails", [&](ReferenceCall&) {
    if (left-- > 0) throw std::runtime_error("not yet");
  });
  auto program =
      tuned("^a ref.sleep(0)\n^b ref.fails() {\"_user_stream_label\": \"fails\"}\nreturn",
            std::move(kernels));
  for (int i = 0; i < 3; ++i) EXPECT_THROW(program->run({}, {}), OperatorError);
  for (int i = 0; i < kEnough; ++i) program->run({}, {});
  EXPECT_FALSE(program->tuning());
}

TEST(Tuner, CallersAtTheSameTimeAreAllRight) {
  auto program = tuned(sleepers("many"));
  std::vector<std::thread> callers;
  for (int64_t k = 0; k < 4; ++k) {
    callers.emplace_back([&, k] {
      for (int64_t i = 0; i < kEnough; ++i) {
        int64_t x = 1000 * k + i;
        EXPECT_EQ(call(*program, {x}, "c"), Elements{2 * x + x * x});
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

// With durations from an earlier run, of operators that are far too short for streams, nothing is
// left to measure: the decision is there before the first call.
TEST(Tuner, KnownTimesNeedNoMeasurement) {
  std::string file = ::testing::TempDir() + "known_times.txt";
  std::string body = sleepers("known");
  Graph graph = graph_of(body);
  std::vector<std::pair<std::string, OperatorTime>> times;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].kind == NodeKind::Operator)
      times.emplace_back(time_key(graph, NodeId(i)), OperatorTime{1, 1, 0});
  }
  TimeTable::of(file).add(times);
  passes::PipelineOptions options;
  options.cores = 2;
  options.fold = true;
  ReferenceKernels kernels;
  Program program(graph_of(body), options, kernels, std::make_shared<CpuDevice>(),
                  Tuning{.on = true, .time_file = file});
  EXPECT_FALSE(program.tuning());
  ASSERT_TRUE(program.tuned());
  EXPECT_THAT(program.tuned()->message, HasSubstr("one stream with all cores"));
  EXPECT_EQ(call(program, {4}, "c"), Elements{24});
}

}  // namespace
}  // namespace anabranch::testing
