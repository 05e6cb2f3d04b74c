// Names that GE uses for operators and element types.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "anabranch/ir/type.h"

namespace anabranch::formats {

/// "aten.add.Tensor" → "Add"; an in-place form maps to its functional form; an operator without a
/// GE counterpart keeps its name.
std::string ge_type(std::string_view aten_name);

/// DType::F16 → "DT_FLOAT16".
std::string_view ge_dtype(DType dtype);
/// The inverse; empty for GE types that tensors of ours cannot have (DT_STRING, DT_INT4, …).
std::optional<DType> from_ge_dtype(std::string_view name);

}  // namespace anabranch::formats
