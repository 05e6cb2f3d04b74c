// Eight threads call several programs that share labels, a hundred thousand times in all: the test
// to run under the thread sanitizer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <thread>

#include "anabranch/backends/cpu/cpu_device.h"
#include "anabranch/backends/cpu/reference_kernels.h"
#include "anabranch/program/program.h"
#include "anabranch/runtime/adversary.h"
#include "anabranch/runtime/recorder.h"
#include "tests/unit/program/calls.h"

namespace anabranch::testing {
namespace {

constexpr int kCallers = 8, kRounds = 5, kCallsPerCaller = 2500;
// Programs of one family share their labels; several families leave some calls all their workers.
constexpr size_t kFamilies = 3, kPerFamily = 6;

constexpr const char* kForkAndJoin =
    "%x = input : i64[2] @b0\n"
    "%a = ref.add(%x, %x) {\"_user_stream_label\": \"left\"} : i64[2] @b1\n"
    "%b = ref.mul(%x, %x) {\"_user_stream_label\": \"right\"} : i64[2] @b2\n"
    "%y = ref.sub(%a, %b) : i64[2] @b3\n"
    "return %y";
constexpr const char* kChain =
    "%x = input : i64[2] @b0\n"
    "%a = ref.add(%x, %x) {\"_user_stream_label\": \"right\"} : i64[2] @b1\n"
    "%b = ref.mul(%a, %x) {\"_user_stream_label\": \"left\"} : i64[2] @b2\n"
    "%c = ref.add(%b, %a) {\"_user_stream_label\": \"third\"} : i64[2] @b3\n"
    "%y = ref.sub(%c, %x) {\"_user_stream_label\": \"right\"} : i64[2] @b4\n"
    "return %y";
constexpr const char* kInPlace =
    "%x = input : i64[2] @b0\n"
    "%s = ref.add(%x, %x) {\"_user_stream_label\": \"left\"} : i64[2] @b1\n"
    "^add ref.add_(%s, %x) writes(%s) {\"_user_stream_label\": \"third\"}\n"
    "^mul ref.mul_(%s, %x) writes(%s) {\"_user_stream_label\": \"left\"}\n"
    "%y = ref.add(%s, %s) {\"_user_stream_label\": \"right\"} : i64[2] @b2\n"
    "return %y";
constexpr const char* kPriorities =  // on one core
    "%x = input : i64[2] @b0\n"
    "%a = ref.mul(%x, %x) {\"_user_stream_label\": \"left\", \"_user_stream_priority\": \"3\"} "
    ": i64[2] @b1\n"
    "%b = ref.add(%x, %x) {\"_user_stream_label\": \"right\", \"_user_stream_priority\": \"-2\"} "
    ": i64[2] @b2\n"
    "%c = ref.add(%x, %x) {\"_user_stream_label\": \"third\", \"_user_stream_priority\": \"1\"} "
    ": i64[2] @b3\n"
    "%d = ref.add(%a, %b) : i64[2] @b4\n"
    "%y = ref.add(%d, %c) : i64[2] @b5\n"
    "return %y";
constexpr const char* kChecked =  // fails for a negative number
    "%x = input : i64[2] @b0\n"
    "%a = ref.add(%x, %x) {\"_user_stream_label\": \"left\"} : i64[2] @b1\n"
    "%b = test.check(%x) {\"_user_stream_label\": \"third\"} : i64[2] @b2\n"
    "%y = ref.add(%a, %b) : i64[2] @b3\n"
    "return %y";
constexpr const char* kNested =  // test.nested calls kForkAndJoin, test.thread on another thread
    "%x = input : i64[2] @b0\n"
    "%a = test.nested(%x) {\"_user_stream_label\": \"left\"} : i64[2] @b1\n"
    "%b = test.thread(%x) {\"_user_stream_label\": \"right\"} : i64[2] @b2\n"
    "%y = ref.add(%a, %b) : i64[2] @b3\n"
    "return %y";

class EightCallers : public ::testing::Test {
 protected:
  /// Programs that nobody has called yet.
  void make_programs() {
    subjects_.clear();
    for (size_t family = 0; family < kFamilies; ++family) make_family(std::to_string(family));
  }

  void make_family(const std::string& suffix) {
    suffix_ = suffix;
    inner_ = nullptr;
    add(kForkAndJoin, [](int64_t x) { return 2 * x - x * x; });
    add(kChain, [](int64_t x) { return 2 * x * x + x; });
    add(kInPlace, [](int64_t x) { return 6 * x * x; });
    add(
        kPriorities, [](int64_t x) { return x * x + 4 * x; }, 1);
    add(kChecked, [](int64_t x) { return 3 * x; });
    add(kNested, [](int64_t x) { return 2 * (2 * x - x * x); });
  }

  void call_all(int caller, int call) {
    // Starting threads is slow, so the last program has its turn less often.
    size_t which = call % 100 == caller ? 5 : static_cast<size_t>(call + caller) % 5;
    size_t family = static_cast<size_t>(call / 5 + caller) % kFamilies;
    const Subject& subject = subjects_[family * kPerFamily + which];
    bool fails = which == 4 && call % 7 == 0;
    int64_t x = fails ? -1 - call : call + caller;
    Adversary adversary(static_cast<uint64_t>(call), 30);
    Recorder recorder;
    Observer* observer = nullptr;
    if (call % 50 == 3) observer = &adversary;
    if (call % 50 == 17) observer = &recorder;
    try {
      if (run(*subject.program, {x, caller}, observer) !=
          Elements{subject.expected(x), subject.expected(caller)})
        ++wrong_;
      if (fails) ++wrong_;
      if (recorder.schedule() == &subject.program->compiled().schedule) ++parallel_;
    } catch (const OperatorError& error) {
      if (!fails || error.failure().node != NodeId(2)) ++wrong_;
    }
  }

  std::atomic<int> wrong_{0};
  std::atomic<int> parallel_{0};  // of the recorded calls: ran on their streams

 private:
  struct Subject {
    std::unique_ptr<Program> program;
    int64_t (*expected)(int64_t);
  };

  void add(const char* body, int64_t (*expected)(int64_t), int cores = 0) {
    ReferenceKernels kernels;
    Program* inner = inner_;
    auto copy = [](ReferenceCall& call, const Elements& elements) {
      ReferenceWindow out = call.result(0);
      for (size_t i = 0; i < elements.size(); ++i) out.at(i) = elements[i];
    };
    auto elements_of = [](ReferenceCall& call) {
      return Elements{call.input(0).at(0), call.input(0).at(1)};
    };
    kernels.define("test.check", [=](ReferenceCall& call) {
      if (call.input(0).at(0) < 0) throw std::out_of_range("negative");
      copy(call, elements_of(call));
    });
    kernels.define("test.nested",
                   [=](ReferenceCall& call) { copy(call, run(*inner, elements_of(call))); });
    kernels.define("test.thread", [=](ReferenceCall& call) {
      Elements x = elements_of(call), y;
      std::thread([&] { y = run(*inner, x); }).join();
      copy(call, y);
    });
    auto device = std::make_shared<CpuDevice>(CpuOptions{.cores = cores});
    subjects_.push_back({std::make_unique<Program>(graph_of(with_labels_of_family(body)),
                                                   passes::PipelineOptions{}, kernels, device),
                         expected});
    if (!inner_) inner_ = subjects_.back().program.get();
  }

  std::string with_labels_of_family(std::string body) const {
    const std::string key = "\"_user_stream_label\": \"";
    for (size_t at = body.find(key); at != std::string::npos; at = body.find(key, at + 1))
      body.insert(body.find('"', at + key.size()), suffix_);
    return body;
  }

  static Elements run(Program& program, const Elements& x, Observer* observer = nullptr) {
    Elements y;
    program.run([&](CallValues& values) { reference(values).set("x", x); },
                [&](CallValues& values) { y = reference(values).get("y"); }, observer);
    return y;
  }

  std::vector<Subject> subjects_;
  std::string suffix_;
  Program* inner_ = nullptr;  // the first of the family
};

TEST_F(EightCallers, HaveTheirOwnValuesAndErrors) {
  for (int round = 0; round < kRounds; ++round) {
    make_programs();
    std::barrier start(kCallers);  // the first calls of a program meet
    std::vector<std::thread> callers;
    for (int caller = 0; caller < kCallers; ++caller) {
      callers.emplace_back([&, caller] {
        start.arrive_and_wait();
        for (int call = 0; call < kCallsPerCaller; ++call) call_all(caller, call);
      });
    }
    for (std::thread& caller : callers) caller.join();
    ASSERT_EQ(wrong_, 0);
  }
  EXPECT_GT(parallel_, 0) << "no call had its workers";
  RecordProperty("recorded_calls_on_their_streams", parallel_);
}

}  // namespace
}  // namespace anabranch::testing
