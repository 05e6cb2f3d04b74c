#include "anabranch/verify/hazards.h"
#include "anabranch/verify/replay.h"
#include "anabranch/verify/verify.h"

namespace anabranch::verify {

std::vector<Diagnostic> check_schedule(const Graph& graph, const Schedule& schedule) {
  std::vector<Diagnostic> findings;
  Replay replay(graph, schedule, findings);
  // Without an order there is no before and after to check against.
  if (!replay.has_order()) return findings;
  UseTable uses(graph);
  check_hazards(graph, uses, schedule, replay, findings);
  check_lifetimes(graph, uses, schedule, replay, findings);
  if (schedule.lanes.cores > 0) check_lanes(graph, schedule, replay, findings);
  return findings;
}

}  // namespace anabranch::verify
