#include "anabranch/analysis/operator_times.h"

#include <algorithm>
#include <cmath>

namespace anabranch {
namespace {

/// More threads are never taken to be slower on the way to all cores: who uses fewer cores is a
/// matter of choice.
double between(double one, double all, int used, int cores) {
  if (used >= cores) return cores > 1 ? all : one;
  if (used <= 1 || all >= one || all <= 0) return one;
  return one * std::pow(all / one, std::log(used) / std::log(cores));
}

}  // namespace

double OperatorTime::with(int used, int of) const { return between(one, all, used, of); }

OperatorTimes::Estimate OperatorTimes::with(NodeId node, int used) const {
  const OperatorTime& time = times[node.index()];
  if (used <= 1 || cores <= 1) return {time.one, false};
  double own = time.with(used, cores);
  if (time.split <= 0) return {own, false};
  double parts = between(time.one, time.split, used, cores);
  return parts < own ? Estimate{parts, true} : Estimate{own, false};
}

}  // namespace anabranch
