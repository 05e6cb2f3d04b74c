// A failing operator: the streams drain, the caller gets the error, the next call works.
#include "tests/conformance/suite.h"

namespace anabranch::testing {
namespace {

class Errors : public Conformance {};
INSTANTIATE_CONFORMANCE(Errors);

constexpr const char* kThrowing =
    "%x = input : i64[1] @b0\n"
    "^check test.fail_if_negative(%x)\n"
    "%y = ref.add(%x, %x) : i64[1] @b1\n"
    "%z = ref.add(%y, %x) : i64[1] @b2\n"
    "return %z";

ReferenceKernels with_check() {
  ReferenceKernels kernels;
  kernels.define("test.fail_if_negative", [](ReferenceCall& call) {
    if (call.input(0).at(0) < 0) throw std::out_of_range("negative");
  });
  return kernels;
}

TEST_P(Errors, TheOriginalExceptionReachesTheCaller) {
  Harness harness(device_, kThrowing,
                  "stream 0 \"\" { wait e0; launch ^y; launch ^z }\n"
                  "stream 1 \"1\" { launch ^check; record e0 }",
                  with_check());
  Harness::Session session(harness);
  Outcome outcome = session.run({{"x", {-1}}});
  EXPECT_EQ(outcome.error, "negative");
  EXPECT_EQ(outcome.failed, "check");
}

TEST_P(Errors, TheNextCallWorks) {
  Harness harness(device_, kThrowing,
                  "stream 0 \"\" { wait e0; launch ^y; launch ^z }\n"
                  "stream 1 \"1\" { launch ^check; record e0 }\n"
                  "buffer b1 acquire ^y release ^z",
                  with_check());
  Harness::Session session(harness);
  for (int64_t i = 1; i < 20; ++i) {
    EXPECT_EQ(session.run({{"x", {-i}}}).error, "negative");
    Outcome good = session.run({{"x", {i}}});
    EXPECT_EQ(good.error, "");
    EXPECT_EQ(good.values["z"], Elements{3 * i});
    EXPECT_EQ(good.releases, (std::vector<int>{0, 1, 0}));
  }
}

TEST_P(Errors, LaterOperatorsDoNotStartOnAnyStream) {
  Harness harness(device_,
                  "%x = input : i64[1] @b0\n"
                  "^bad ref.throw(\"first\")\n"
                  "^p ref.print(%x) effects(io \"log\")\n"
                  "^q ref.print(%x) effects(io \"log\")\n"
                  "return",
                  "stream 0 \"\" { launch ^bad; record e0; launch ^q }\n"
                  "stream 1 \"1\" { wait e0; launch ^p }");
  Outcome outcome = harness.run({{"x", {1}}});
  EXPECT_EQ(outcome.error, "first");
  EXPECT_THAT(outcome.log, ::testing::IsEmpty());
}

TEST_P(Errors, TheErrorIsTheOneThatEagerExecutionRaises) {
  // `late` fails at once, `early` after a while => early's error, and `before` has run
  Harness harness(device_,
                  "%x = input : i64[1] @b0\n"
                  "%slow = ref.sleep(5000, %x) : i64[1] @b1\n"
                  "^before ref.print(%slow) effects(io \"log\")\n"
                  "^early ref.throw(\"early\", %slow)\n"
                  "^late ref.throw(\"late\")\n"
                  "return",
                  "stream 0 \"\" { launch ^late }\n"
                  "stream 1 \"1\" { launch ^slow; launch ^before; launch ^early }");
  for (int i = 0; i < 5; ++i) {
    Outcome outcome = harness.run({{"x", {9}}});
    EXPECT_EQ(outcome.error, "early");
    EXPECT_EQ(outcome.failed, "early");
    EXPECT_THAT(outcome.log, ::testing::ElementsAre("before: 9"));
  }
}

TEST_P(Errors, WaitingStreamsDrain) {
  // the failing stream owes two events to others, which owe one in turn
  Harness harness(device_,
                  "%x = input : i64[1] @b0\n"
                  "^bad ref.throw(\"boom\")\n"
                  "%a = ref.add(%x, %x) : i64[1] @b1\n"
                  "%b = ref.add(%x, %x) : i64[1] @b2\n"
                  "%c = ref.add(%a, %b) : i64[1] @b3\n"
                  "return %c",
                  "stream 0 \"\" { wait e2; launch ^c }\n"
                  "stream 1 \"1\" { launch ^bad; record e0; launch ^a; record e1 }\n"
                  "stream 2 \"2\" { wait e0; launch ^b; wait e1; record e2 }");
  Harness::Session session(harness);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(session.run({{"x", {1}}}).error, "boom");
}

TEST_P(Errors, UnderTheAdversaryToo) {
  Harness harness(device_, kThrowing,
                  "stream 0 \"\" { wait e0; launch ^y; record e1; wait e2 }\n"
                  "stream 1 \"1\" { launch ^check; record e0 }\n"
                  "stream 2 \"2\" { wait e1; launch ^z; record e2 }",
                  with_check());
  Harness::Session session(harness);
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Adversary adversary(seed, 500);
    EXPECT_EQ(session.run({{"x", {-1}}}, &adversary).failed, "check");
    EXPECT_EQ(session.run({{"x", {2}}}, &adversary).values["z"], Elements{6});
  }
}

}  // namespace
}  // namespace anabranch::testing
