// What each operator of a graph takes with one core and with all of them, as measured.
#pragma once

#include <vector>

#include "anabranch/base/ids.h"

namespace anabranch {

/// Nanoseconds. Plain data.
struct OperatorTime {
  double one = 0;    // on one thread
  double all = 0;    // with intra-op threads on all cores, as the operator's own kernel uses them
  double split = 0;  // cut into one part for each core; 0: it cannot be

  /// Not split, with `used` of the `cores` that `all` means. Between one and all it follows a power
  /// of their number.
  double with(int used, int cores) const;
};

/// By NodeId; zeros for what is not launched or runs no kernel. Immutable after it was filled.
struct OperatorTimes {
  int cores = 1;  // what "all" means
  std::vector<OperatorTime> times;

  struct Estimate {
    double ns = 0;
    bool split = false;  // the faster of the two ways
  };
  /// With so many of the cores.
  Estimate with(NodeId node, int cores) const;
};

}  // namespace anabranch
