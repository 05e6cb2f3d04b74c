// Operators that no library knows: steps that stand for a region of the user's operators. A kernel
// set that is given steps implements them.
#pragma once

#include <string_view>

namespace anabranch::step {

/// `%r, … = anabranch.kernel("symbol", [%a, …], [block, …])`: calls a function of the kernel
/// library with the addresses of the listed values and then of the results, which it fills. A block
/// other than 0 says that the function wants that matrix repacked in column blocks of so many
/// columns. With `writes(…)` it fills those values, too.
inline constexpr std::string_view kKernel = "anabranch.kernel";
/// `%r = anabranch.buffer()`: memory that later steps fill.
inline constexpr std::string_view kBuffer = "anabranch.buffer";

/// Attribute of kernels, a list of two integers: the flops of the matrix unit and of the vector
/// unit that the operators would need that they stand for.
inline constexpr std::string_view kFlops = "_anabranch_flops";

constexpr bool is_step(std::string_view op) { return op == kKernel || op == kBuffer; }

}  // namespace anabranch::step
