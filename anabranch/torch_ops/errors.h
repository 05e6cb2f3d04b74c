// Errors of operators as Python sees them in eager mode, with the operator's place added.
#pragma once

#include <string>

#include "anabranch/program/program.h"

namespace anabranch::torch_ops {

/// Throws the operator's own exception again: same type, message with the operator, stream and
/// source line on a further line. Standard exceptions become the torch exception that Python shows
/// as the type that eager mode gives; those whose message cannot grow (Python's own) go through
/// unchanged.
[[noreturn]] void rethrow(const OperatorError& error);

/// Where the last call on this thread failed; "" if it did not. For exceptions without context.
std::string& last_error_context();

}  // namespace anabranch::torch_ops
