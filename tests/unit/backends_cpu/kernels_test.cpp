#include "anabranch/backends/cpu/reference_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "anabranch/backends/cpu/cpu_device.h"
#include "tests/conformance/harness.h"

namespace anabranch::testing {
namespace {

/// Runs the statements one after the other and returns everything that `outputs` names.
Outcome run(const std::string& statements, const std::string& outputs, const Named& inputs = {}) {
  std::string body = statements + "return " + outputs;
  std::string list;
  for (const Node& node : graph_of(body).nodes) {
    if (node.kind == NodeKind::Operator) list += "launch ^" + node.name + "; ";
  }
  return Harness(std::make_shared<CpuDevice>(), body, "stream 0 \"\" { " + list + "}").run(inputs);
}

TEST(ReferenceKernels, Makers) {
  Outcome outcome =
      run("%a = ref.fill(7) : i64[2] @b0\n%b = ref.iota(3) : i64[2,2] @b1\n", "%a, %b");
  EXPECT_EQ(outcome.values["a"], (Elements{7, 7}));
  EXPECT_EQ(outcome.values["b"], (Elements{3, 4, 5, 6}));
}

TEST(ReferenceKernels, Arithmetic) {
  Outcome outcome =
      run("%x = input : f16[2] @b0\n%y = input : f16[2] @b1\n"
          "%a = ref.add(%x, %y) : f16[2] @b2\n%s = ref.sub(%x, %y) : f16[2] @b3\n"
          "%m = ref.mul(%x, %y) : f16[2] @b4\n%t = ref.sum(%m) : f16[1] @b5\n",
          "%a, %s, %m, %t", {{"x", {5, 6}}, {"y", {2, 3}}});
  EXPECT_EQ(outcome.values["a"], (Elements{7, 9}));
  EXPECT_EQ(outcome.values["s"], (Elements{3, 3}));
  EXPECT_EQ(outcome.values["m"], (Elements{10, 18}));
  EXPECT_EQ(outcome.values["t"], (Elements{28}));
}

TEST(ReferenceKernels, ViewsAreWindowsOnTheBuffer) {
  // the transpose of [[0,1,2],[3,4,5]] and its last row
  Outcome outcome =
      run("%x = ref.iota(0) : i64[2,3] @b0\n"
          "%t = view test.t(%x) : i64[3,2](1,3) @b0\n"
          "%r = view test.row(%t) : i64[2](3)+2 @b0\n",
          "%t, %r");
  EXPECT_EQ(outcome.values["t"], (Elements{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(outcome.values["r"], (Elements{2, 5}));
}

TEST(ReferenceKernels, WritesGoThroughViews) {
  Outcome outcome =
      run("%x = input : i64[4] @b0\n"
          "%odd = view test.slice(%x) : i64[2](2)+1 @b0\n"
          "^w ref.fill_(%odd, 9) writes(%odd)\n"
          "%y = ref.mul_(%odd, %odd) writes(%odd) : i64[2](2)+1 @b0\n",
          "%y", {{"x", {1, 2, 3, 4}}});
  EXPECT_EQ(outcome.values["x"], (Elements{1, 81, 3, 81}));
  EXPECT_EQ(outcome.values["y"], (Elements{81, 81}));
}

TEST(ReferenceKernels, TheGeneratorGoesOnThroughTheCall) {
  Outcome one = run("%a = ref.rand() effects(random \"cpu\") : i64[4] @b0\n", "%a");
  Outcome two =
      run("%a = ref.rand() effects(random \"cpu\") : i64[2] @b0\n"
          "%b = ref.rand() effects(random \"cpu\") : i64[2] @b1\n",
          "%a, %b");
  Elements joined = two.values["a"];
  joined.insert(joined.end(), two.values["b"].begin(), two.values["b"].end());
  EXPECT_EQ(one.values["a"], joined);
}

TEST(ReferenceKernels, SplitPrintAndSleep) {
  Outcome outcome =
      run("%x = ref.iota(1) : i64[4] @b0\n%a, %b = ref.split2(%x) : i64[2] @b1, i64[2] @b2\n"
          "^p ref.print(%b) effects(io \"log\")\n%s = ref.sleep(1, %a) : i64[2] @b3\n",
          "%a, %b, %s");
  EXPECT_EQ(outcome.values["a"], (Elements{1, 2}));
  EXPECT_EQ(outcome.values["b"], (Elements{3, 4}));
  EXPECT_EQ(outcome.values["s"], (Elements{1, 2}));
  EXPECT_THAT(outcome.log, ::testing::ElementsAre("p: 3 4"));
}

TEST(ReferenceKernels, AnOperatorThatRunsTooEarlyIsReported) {
  // b before a => b reads memory that nobody made
  Harness harness(std::make_shared<CpuDevice>(),
                  "%a = ref.fill(1) : i64[1] @b0\n%b = ref.add(%a, %a) : i64[1] @b1\nreturn %b",
                  "stream 0 \"\" { launch ^b; launch ^a }");
  Outcome outcome = harness.run();
  EXPECT_THAT(outcome.error, ::testing::HasSubstr("b0 used by b before it was made"));
  EXPECT_THAT(outcome.violations, ::testing::SizeIs(1));
}

TEST(ReferenceKernels, AUseAfterTheReleaseIsReported) {
  Harness harness(
      std::make_shared<CpuDevice>(),
      "%a = ref.fill(1) : i64[1] @b0\n%b = ref.add(%a, %a) : i64[1] @b1\n"
      "%c = ref.add(%a, %a) : i64[1] @b2\nreturn %c",
      "stream 0 \"\" { launch ^a; launch ^b; launch ^c }\nbuffer b0 acquire ^a release ^b");
  EXPECT_THAT(harness.run().error, ::testing::HasSubstr("b0 used by c after its release"));
}

TEST(ReferenceKernels, BadArgumentsNameTheOperator) {
  EXPECT_THAT(run("%a = ref.fill(\"x\") : i64[1] @b0\n", "%a").error,
              ::testing::HasSubstr("a (ref.fill): argument 0 is not an integer"));
  EXPECT_THAT(run("%x = ref.iota() : i64[2] @b0\n%y = ref.iota() : i64[3] @b1\n"
                  "%a = ref.add(%x, %y) : i64[2] @b2\n",
                  "%a")
                  .error,
              ::testing::HasSubstr("sizes differ: [2] and [3]"));
}

}  // namespace
}  // namespace anabranch::testing
