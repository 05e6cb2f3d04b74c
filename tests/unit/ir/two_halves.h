// A collective in two halves, and a write to its operand after them.
#pragma once

#include <string_view>

namespace anabranch::testing_support {

inline constexpr std::string_view kTwoHalves = R"(anabranch 1
    graph "g" {
      %x = input : f32[4] @b0
      %g = gather(%x) effects(collective "0") : f32[8] @b1
      %w = wait_tensor(%g) writes(%g) reads(%x) : f32[8] @b1
      %y = relu_(%x) writes(%x) : f32[4] @b0
      return %w
    })";

}  // namespace anabranch::testing_support
