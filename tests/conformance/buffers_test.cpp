// Buffers are released once, when the last of their last uses has completed.
#include <fmt/format.h>

#include "tests/conformance/suite.h"

namespace anabranch::testing {
namespace {

class Buffers : public Conformance {};
INSTANTIATE_CONFORMANCE(Buffers);

TEST_P(Buffers, OneLastUse) {
  Harness harness(device_,
                  "%x = input : i64[1] @b0\n"
                  "%a = ref.add(%x, %x) : i64[1] @b1\n"
                  "%b = ref.add(%a, %a) : i64[1] @b2\n"
                  "return %b",
                  "stream 0 \"\" { launch ^a; launch ^b }\n"
                  "buffer b1 acquire ^a release ^b");
  Outcome outcome = harness.run({{"x", {1}}});
  EXPECT_EQ(outcome.releases, (std::vector<int>{0, 1, 0}));
  EXPECT_EQ(outcome.values["b"], Elements{4});
}

TEST_P(Buffers, NeverUsedAgain) {
  Harness harness(device_,
                  "%x = input : i64[1] @b0\n"
                  "%a = ref.add(%x, %x) : i64[1] @b1\n"
                  "return %x",
                  "stream 0 \"\" { launch ^a }\n"
                  "buffer b1 acquire ^a release");
  EXPECT_EQ(harness.run({{"x", {1}}}).releases, (std::vector<int>{0, 1}));
}

/// One producer, `readers` on a stream each; the buffer ends with the last of them.
TEST_P(Buffers, UnorderedLastUsesOnManyStreams) {
  constexpr size_t kReaders = 6;
  std::string graph = "%x = input : i64[4] @b0\n%a = ref.add(%x, %x) : i64[4] @b1\n";
  std::string streams = "stream 0 \"\" { launch ^a; record e0 }\n", releases, outputs;
  for (size_t r = 0; r < kReaders; ++r) {
    graph += fmt::format("%r{} = ref.add(%a, %x) : i64[4] @b{}\n", r, 2 + r);
    streams += fmt::format("stream {} \"reader{}\" {{ wait e0; launch ^r{} }}\n", r + 1, r, r);
    releases += fmt::format(" ^r{}", r);
    outputs += fmt::format("{} %r{}", r > 0 ? "," : "", r);
  }
  Harness harness(device_, graph + "return" + outputs,
                  streams + "buffer b1 acquire ^a release" + releases);
  Harness::Session session(harness);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Adversary adversary(seed, 200);
    Outcome outcome = session.run({{"x", {1, 2, 3, 4}}}, &adversary);
    EXPECT_THAT(outcome.violations, ::testing::IsEmpty());
    EXPECT_EQ(outcome.releases[1], 1);
    for (size_t r = 0; r < kReaders; ++r) {
      EXPECT_EQ(outcome.values[fmt::format("r{}", r)], (Elements{3, 6, 9, 12}));
    }
  }
}

TEST_P(Buffers, AWaitOperatorCanBeALastUse) {
  Harness harness(device_,
                  "%x = input : i64[1] @b0\n"
                  "%a = ref.add(%x, %x) : i64[1] @b1\n"
                  "%w = wait 0 (%a) : i64[1] @b1\n"
                  "return %x",
                  "stream 0 \"\" { launch ^a; record e0 }\n"
                  "stream 1 \"1\" { wait e0; launch ^w }\n"
                  "buffer b1 acquire ^a release ^w");
  EXPECT_EQ(harness.run({{"x", {1}}}).releases, (std::vector<int>{0, 1}));
}

TEST_P(Buffers, AnErrorReleasesNothingTwice) {
  // b1 has two last uses; one of them fails in every other call
  ReferenceKernels kernels;
  kernels.define("test.fail_if_negative", [](ReferenceCall& call) {
    if (call.input(1).at(0) < 0) throw std::runtime_error("negative");
    call.result(0).at(0) = call.input(0).at(0);
  });
  Harness harness(device_,
                  "%x = input : i64[1] @b0\n"
                  "%a = ref.add(%x, %x) : i64[1] @b1\n"
                  "%b = ref.add(%a, %x) : i64[1] @b2\n"
                  "%c = test.fail_if_negative(%a, %x) : i64[1] @b3\n"
                  "return %b, %c",
                  "stream 0 \"\" { launch ^a; record e0; launch ^b }\n"
                  "stream 1 \"1\" { wait e0; launch ^c }\n"
                  "buffer b1 acquire ^a release ^b ^c",
                  kernels);
  Harness::Session session(harness);
  for (int i = 0; i < 20; ++i) {
    Outcome bad = session.run({{"x", {-1}}});
    EXPECT_EQ(bad.error, "negative");
    EXPECT_LE(bad.releases[1], 1);
    Outcome good = session.run({{"x", {1}}});
    EXPECT_EQ(good.error, "");
    EXPECT_EQ(good.releases[1], 1);
    EXPECT_THAT(good.violations, ::testing::IsEmpty());
  }
}

}  // namespace
}  // namespace anabranch::testing
