// The fixture of the conformance suite: every test runs on every backend.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "anabranch/runtime/adversary.h"
#include "tests/conformance/backends.h"
#include "tests/conformance/harness.h"

namespace anabranch::testing {

class Conformance : public ::testing::TestWithParam<Backend> {
 protected:
  std::shared_ptr<Device> device_ = GetParam().make();
};

#define INSTANTIATE_CONFORMANCE(suite)                                       \
  INSTANTIATE_TEST_SUITE_P(Backends, suite, ::testing::ValuesIn(backends()), \
                           [](const auto& instance) { return instance.param.name; })

}  // namespace anabranch::testing
