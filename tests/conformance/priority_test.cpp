// Cores go to the stream of the highest priority first.
#include <fmt/format.h>

#include <mutex>
#include <thread>

#include "tests/conformance/suite.h"

namespace anabranch::testing {
namespace {

using ::testing::ElementsAre;

class Priority : public Conformance {
 protected:
  /// `^all` waits until every other stream has asked for cores; operators of the others write their
  /// names down. `^go` waits until `^all` has its core, and needs none itself.
  ReferenceKernels kernels(int waiting) {
    ReferenceKernels kernels;
    kernels.define("test.all", [this, waiting](ReferenceCall&) {
      begun_ = true;
      while (session_->state().waiting_for_cores() != waiting) std::this_thread::yield();
    });
    kernels.define("test.go", [this](ReferenceCall&) {
      while (!begun_) std::this_thread::yield();
    });
    kernels.define("test.note", [this](ReferenceCall& call) {
      std::lock_guard lock(mutex_);
      order_.push_back(call.node().name);
    });
    return kernels;
  }

  std::vector<std::string> run(Harness& harness) {
    begun_ = false;
    order_.clear();
    Harness::Session session(harness);
    session_ = &session;
    EXPECT_EQ(session.run({}).error, "");
    return order_;
  }

  std::shared_ptr<Device> one_core_ = GetParam().make_with_cores(1);
  Harness::Session* session_ = nullptr;
  std::atomic<bool> begun_{false};
  std::mutex mutex_;
  std::vector<std::string> order_;
};
INSTANTIATE_CONFORMANCE(Priority);

TEST_P(Priority, StreamsThatWaitForACoreGetItByPriority) {
  Harness harness(one_core_,
                  "^all test.all()\n"
                  "^go1 test.go() effects(io \"1\")\n^go2 test.go() effects(io \"2\")\n"
                  "^go3 test.go() effects(io \"3\")\n^go4 test.go() effects(io \"4\")\n"
                  "^last test.note()\n^third test.note()\n^first test.note()\n^second test.note()\n"
                  "return",
                  "stream 0 \"\" priority 0 { launch ^all }\n"
                  "stream 1 \"p1\" priority 30 { launch ^go1; launch ^last }\n"
                  "stream 2 \"p2\" priority 2 { launch ^go2; launch ^third }\n"
                  "stream 3 \"p3\" priority -5 { launch ^go3; launch ^first }\n"
                  "stream 4 \"p4\" priority 1 { launch ^go4; launch ^second }",
                  kernels(4));
  for (int i = 0; i < 5; ++i)
    EXPECT_THAT(run(harness), ElementsAre("first", "second", "third", "last"));
}

TEST_P(Priority, AStreamKeepsItsCoreFromOneReadyOperatorToTheNext) {
  // the waits of the higher stream have nothing to wait for; its last one has
  Harness harness(one_core_,
                  "^all test.all()\n"
                  "^go1 test.go() effects(io \"1\")\n^go2 test.go() effects(io \"2\")\n"
                  "^h1 test.note()\n^h2 test.note()\n^h3 test.note()\n"
                  "^l1 test.note()\n^l2 test.note()\n^h4 test.note()\nreturn",
                  "stream 0 \"\" priority 0 { record e0; launch ^all; record e1 }\n"
                  "stream 1 \"high\" priority 1 { launch ^go1; launch ^h1; record e2; launch ^h2; "
                  "wait e0; wait e1; launch ^h3; wait e3; launch ^h4 }\n"
                  "stream 2 \"low\" priority 2 { launch ^go2; launch ^l1; launch ^l2; record e3 }",
                  kernels(2));
  for (int i = 0; i < 5; ++i)
    EXPECT_THAT(run(harness), ElementsAre("h1", "h2", "h3", "l1", "l2", "h4"));
}

TEST_P(Priority, NobodyWaitsForCoresOfWhichThereAreEnough) {
  // both streams have to run at the same moment
  std::atomic<int> arrived{0};
  ReferenceKernels kernels;
  kernels.define("test.meet", [&](ReferenceCall&) {
    ++arrived;
    while (arrived % 2 != 0) std::this_thread::yield();
  });
  Harness harness(GetParam().make_with_cores(2), "^a test.meet()\n^b test.meet()\nreturn",
                  "stream 0 \"\" priority 0 { launch ^a threads 1 }\n"
                  "stream 1 \"p1\" priority 30 { launch ^b threads 1 }",
                  kernels);
  for (int i = 0; i < 20; ++i) harness.run();
}

TEST_P(Priority, StreamsOfOnePriorityShareTheCoresAsTheSystemLikes) {
  std::atomic<int> arrived{0};
  ReferenceKernels kernels;
  kernels.define("test.meet", [&](ReferenceCall&) {
    ++arrived;
    while (arrived % 3 != 0) std::this_thread::yield();
  });
  Harness harness(one_core_, "^a test.meet()\n^b test.meet()\n^c test.meet()\nreturn",
                  "stream 0 \"\" { launch ^a }\nstream 1 \"p1\" { launch ^b }\n"
                  "stream 2 \"p2\" { launch ^c }",
                  kernels);
  for (int i = 0; i < 20; ++i) harness.run();
}

TEST_P(Priority, AFailureLeavesNoCoreTaken) {
  Harness harness(one_core_,
                  "%x = input : i64[1] @b0\n"
                  "^bad ref.throw(\"boom\")\n"
                  "%a = ref.add(%x, %x) : i64[1] @b1\n"
                  "%b = ref.add(%x, %x) : i64[1] @b2\n"
                  "return %b",
                  "stream 0 \"\" priority 0 { launch ^bad; record e0; launch ^a }\n"
                  "stream 1 \"p1\" priority 1 { wait e0; launch ^b }");
  Harness::Session session(harness);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(session.run({{"x", {1}}}).failed, "bad");
    EXPECT_EQ(session.state().waiting_for_cores(), 0);
  }
}

}  // namespace
}  // namespace anabranch::testing
