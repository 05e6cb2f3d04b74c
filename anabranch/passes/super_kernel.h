// super_kernel scopes: operators that are one launch unit on one stream.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "anabranch/base/diagnostic.h"
#include "anabranch/ir/graph.h"

namespace anabranch::keys {
inline constexpr std::string_view kSuperKernel = "_super_kernel_scope";
inline constexpr std::string_view kSuperKernelOptions = "_super_kernel_options";
}  // namespace anabranch::keys

namespace anabranch::passes {

/// The name of the super_kernel scope that a launched operator is in, or nullptr.
const std::string* super_kernel_of(const Node& node);

/// True if the options of a scope ("stream-fusion=1:other=2") let its operators keep their streams.
/// Blanks, empty parts and unknown options are passed over; of repeated ones the last counts.
bool keeps_streams(std::string_view options);

/// The scopes whose operators have several stream labels.
struct SuperKernels {
  /// By scope: the label that all of its operators get, that of its first one.
  std::unordered_map<std::string, std::string> label;
  /// One for each such scope ("super-kernel"): both labels, both source lines, the way out.
  std::vector<Diagnostic> warnings;
};
/// Scopes with stream-fusion=1 in the options of any of their operators are left alone.
SuperKernels join_super_kernels(const Graph& graph);

}  // namespace anabranch::passes
