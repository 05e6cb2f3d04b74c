// Which cores this process may use.
#pragma once

#include <cstddef>

namespace anabranch {

/// The number of cores in the process's affinity mask, at least 1.
int available_cores();

/// Keeps the calling thread on the `index`-th available core (modulo their number). Says whether
/// the system allowed it.
bool pin_to_core(size_t index);

}  // namespace anabranch
