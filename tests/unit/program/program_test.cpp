#include "anabranch/program/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "anabranch/backends/cpu/cpu_device.h"
#include "anabranch/backends/cpu/reference_kernels.h"
#include "tests/unit/program/calls.h"

namespace anabranch::testing {
namespace {

using ::testing::HasSubstr;

// The two-stream example: c on stream "1" needs a, d on the default stream needs c.
constexpr const char* kExample =
    "%x = input : i64[2] @b0\n"
    "%a = ref.add(%x, %x) : i64[2] @b1 at \"model.py\" 10 in \"forward\"\n"
    "%c = ref.mul(%a, %x) {\"_user_stream_label\": \"1\"} : i64[2] @b2 at \"model.py\" 12 in "
    "\"forward\"\n"
    "%d = ref.sub(%c, %a) : i64[2] @b3\n"
    "return %d";

std::unique_ptr<Program> make_program(const char* body, ReferenceKernels kernels = {},
                                      passes::PipelineOptions options = {}) {
  return std::make_unique<Program>(graph_of(body), options, kernels, std::make_shared<CpuDevice>());
}

TEST(Program, RunsOnItsStreams) {
  auto program = make_program(kExample);
  EXPECT_EQ(program->compiled().schedule.streams.size(), 2u);
  for (int64_t i = 0; i < 50; ++i)
    EXPECT_EQ(call(*program, {i, 1}, "d"), (Elements{2 * i * i - 2 * i, 0}));
}

TEST(Program, SerialRunGivesTheSame) {
  auto program = make_program(kExample);
  Elements d;
  program->run_serial(
      [](CallValues& values) {
        reference(values).set("x", {3, 4});
      },
      [&](CallValues& values) { d = reference(values).get("d"); });
  EXPECT_EQ(d, (Elements{12, 24}));
}

TEST(Program, FoldedStreamsRunOnTheCallerUnlessAllAreAskedFor) {
  std::thread::id ran_on;
  ReferenceKernels kernels;
  kernels.define("test.where", [&](ReferenceCall&) { ran_on = std::this_thread::get_id(); });
  passes::PipelineOptions options;
  options.fold = true;
  // "1" runs beside nothing, so it is folded whatever its operator costs
  auto program = make_program(
      "^a ref.sleep(1)\n^b test.where() after(^a) {\"_user_stream_label\": \"1\"}\n"
      "^c ref.sleep(1) after(^b)\nreturn",
      std::move(kernels), options);
  ASSERT_TRUE(program->compiled().schedule.streams[1].folded);
  EXPECT_THAT(program->report(), HasSubstr("the calling thread (folded)"));
  program->run({}, {});
  EXPECT_EQ(ran_on, std::this_thread::get_id());
  program->run_unfolded({}, {});
  EXPECT_NE(ran_on, std::this_thread::get_id());
  program->run({}, {});
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

TEST(Program, AFailureOnAnInnerStreamNamesTheUsersLabel) {
  auto program = make_program(
      "%x = input : i64[2] @b0\n"
      "%a = ref.add(%x, %x) {\"_user_stream_label\": \"1\"} : i64[2] @b1\n"
      "^f ref.throw(\"lost\") effects(collective \"0\") {\"_user_stream_label\": \"1\"}\n"
      "return %a");
  try {
    call(*program, {1, 2}, "a");
    FAIL() << "no error";
  } catch (const OperatorError& error) {
    EXPECT_THAT(error.context(), HasSubstr("stream \"1\" (inner stream \"1_comm\")"));
  }
}

TEST(Program, CanBeCalledFromManyThreads) {
  auto program = make_program(kExample);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int64_t t = 0; t < 4; ++t) {
    callers.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        if (call(*program, {t, t}, "d") != Elements(2, 2 * t * t - 2 * t)) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

ReferenceKernels failing_kernels() {
  ReferenceKernels kernels;
  kernels.define("ref.mul",
                 [](ReferenceCall&) { throw std::out_of_range("index 7 is too large"); });
  return kernels;
}

TEST(Program, AnErrorNamesOperatorStreamAndSource) {
  auto program = make_program(kExample, failing_kernels());
  try {
    call(*program, {1, 2}, "d");
    FAIL() << "no error";
  } catch (const OperatorError& error) {
    EXPECT_EQ(error.context(), "in operator c (ref.mul), stream \"1\", at model.py:12 in forward");
    EXPECT_EQ(std::string(error.what()), "index 7 is too large (" + error.context() + ")");
    EXPECT_THROW(std::rethrow_exception(error.failure().error), std::out_of_range);
  }
}

TEST(Program, TheSerialScheduleNamesTheSameStream) {
  auto program = make_program(kExample, failing_kernels());
  try {
    program->run_serial([](CallValues& values) { reference(values).set("x", {3, 4}); }, {});
    FAIL() << "no error";
  } catch (const OperatorError& error) {
    EXPECT_THAT(error.context(), HasSubstr("stream \"1\""));
  }
}

TEST(Program, WorksAfterBindOrCollectThrew) {
  auto program = make_program(kExample);
  auto fail = [](CallValues&) { throw std::runtime_error("mine"); };
  auto set = [](CallValues& values) { reference(values).set("x", {1, 1}); };
  EXPECT_THROW(program->run(fail, {}), std::runtime_error);
  EXPECT_THROW(program->run(set, fail), std::runtime_error);
  EXPECT_EQ(call(*program, {3, 4}, "d"), (Elements{12, 24}));
}

TEST(Program, ANestedProgramRunsInsideItsOperator) {
  // both the caller's and the worker's operator call the inner program, which has the same labels
  auto inner = make_program(kExample);
  ReferenceKernels kernels;
  kernels.define("test.inner", [&](ReferenceCall& outer) {
    ReferenceWindow x = outer.input(0), out = outer.result(0);
    Elements d = call(*inner, {x.at(0), x.at(1)}, "d");
    for (size_t i = 0; i < 2; ++i) out.at(i) = d[i];
  });
  auto outer = make_program(
      "%x = input : i64[2] @b0\n"
      "%a = test.inner(%x) : i64[2] @b1\n"
      "%b = test.inner(%x) {\"_user_stream_label\": \"1\"} : i64[2] @b2\n"
      "%c = ref.add(%a, %b) : i64[2] @b3\n"
      "return %c",
      kernels);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(call(*outer, {3, 4}, "c"), (Elements{24, 48}));
}

/// Programs whose operators start a thread that calls `inner` and wait for it.
std::unique_ptr<Program> make_caller(Program& inner) {
  ReferenceKernels kernels;
  kernels.define("test.thread", [&](ReferenceCall& outer) {
    ReferenceWindow x = outer.input(0), out = outer.result(0);
    std::thread([&] {
      Elements d = call(inner, {x.at(0), x.at(1)}, "d");
      for (size_t i = 0; i < 2; ++i) out.at(i) = d[i];
    }).join();
  });
  return make_program(
      "%x = input : i64[2] @b0\n"
      "%a = test.thread(%x) : i64[2] @b1\n"
      "%b = test.thread(%x) {\"_user_stream_label\": \"1\"} : i64[2] @b2\n"
      "%c = ref.add(%a, %b) : i64[2] @b3\n"
      "return %c",
      kernels);
}

TEST(Program, AThreadThatAnOperatorWaitsForCanCallAProgramWithTheSameLabels) {
  // the worker of "1" and the calling thread both wait for such a thread, which needs the worker
  auto inner = make_program(kExample);
  auto outer = make_caller(*inner);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(call(*outer, {3, 4}, "c"), (Elements{24, 48}));
}

TEST(Program, ACallThatCannotHaveItsLanesRunsOnItsOwnThread) {
  auto inner = make_program(kExample);
  ReferenceKernels kernels;
  std::vector<std::thread::id> threads;
  std::thread::id caller;
  kernels.define("test.thread", [&](ReferenceCall&) {
    std::thread([&] {
      caller = std::this_thread::get_id();
      struct Watch : Observer {
        explicit Watch(std::vector<std::thread::id>& list) : ids(list) {}
        void before_call(const Schedule& tried) override { schedule = &tried; }
        void before_launch(StreamId, const Launch&) override {
          ids.push_back(std::this_thread::get_id());
        }
        std::vector<std::thread::id>& ids;
        const Schedule* schedule = nullptr;
      } watch(threads);
      inner->run([](CallValues& values) { reference(values).set("x", {1, 1}); }, {}, &watch);
      EXPECT_EQ(watch.schedule, &inner->compiled().serial);
    }).join();
  });
  auto outer = make_program(
      "^a test.thread() {\"_user_stream_label\": \"1\"} effects(io \"x\")\nreturn", kernels);
  outer->run({}, {});
  EXPECT_THAT(threads, ::testing::ElementsAre(caller, caller, caller));
}

TEST(Program, SizesAreThoseOfTheCall) {
  auto program = make_program(
      "%s0 = input : int(s0)\n"
      "%x = input : i64[s0] @b0\n"
      "%a = ref.add(%x, %x) : i64[s0] @b1\n"
      "%t = ref.sum(%a) : i64[1] @b2\n"
      "return %t");
  for (int64_t size : {1, 5, 3}) {
    Elements total;
    program->run(
        [&](CallValues& values) {
          values.symbols["s0"] = size;
          reference(values).set("x", Elements(static_cast<size_t>(size), 7));
        },
        [&](CallValues& values) { total = reference(values).get("t"); });
    EXPECT_EQ(total, Elements{14 * size});
  }
}

TEST(Program, IntermediateBuffersEndWithTheirLastUse) {
  auto program = make_program(kExample);
  program->run(
      [](CallValues& values) {
        reference(values).set("x", {1, 1});
      },
      [](CallValues& values) {
        EXPECT_EQ(reference(values).releases(BufferId(1)), 1);
        EXPECT_EQ(reference(values).releases(BufferId(2)), 1);
        EXPECT_EQ(reference(values).releases(BufferId(3)), 0);
        EXPECT_THAT(reference(values).violations(), ::testing::IsEmpty());
      });
}

TEST(Program, AnUnknownOperatorIsAnErrorAtLoad) {
  try {
    make_program("%x = ref.nonsense() : i64[1] @b0 at \"model.py\" 3\nreturn %x");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.diagnostics().front().rule, "unknown-operator");
    EXPECT_THAT(error.what(), HasSubstr("model.py:3"));
  }
}

TEST(Program, TheReportShowsStreamsAndWaits) {
  std::string report = make_program(kExample)->report();
  EXPECT_THAT(report, HasSubstr("3 operators on 2 streams"));
  EXPECT_THAT(report, HasSubstr("the default stream: 2 operators, priority 0, the calling thread"));
  EXPECT_THAT(report, HasSubstr("stream \"1\": 1 operators, priority 0, worker "));
  EXPECT_THAT(report, HasSubstr("a (the default stream) -> c (stream \"1\")"));
  EXPECT_THAT(report, HasSubstr("c (stream \"1\") -> d (the default stream)"));
}

}  // namespace
}  // namespace anabranch::testing
