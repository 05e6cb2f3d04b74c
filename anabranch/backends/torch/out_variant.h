// The form of an operator that writes its results into memory that it is given.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>

namespace anabranch::torch_backend {

/// The overload that takes the operator's arguments in their order and then one `out` tensor for
/// each result, if the CPU has a kernel of its own for it. (Torch also generates such overloads
/// from the functional operator: they compute into fresh memory and copy, and are not returned.)
/// Searched once for each operator of the process. Thread-safe. Throws nothing.
std::optional<c10::OperatorHandle> find_out_variant(const c10::OperatorHandle& functional);

}  // namespace anabranch::torch_backend
