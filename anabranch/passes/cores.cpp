// Shares the cores between operators that can run at the same moment.
//
// Guarantees: an operator that runs alone keeps the caller's number of threads (0) or has its
// limit. Where `width` streams can be busy at once, each operator gets cores / width threads, at
// most its limit, so that their sum stays within the cores: spinning OpenMP threads on a busy core
// cost far more than they give. An operator whose bits depend on the thread count keeps the
// caller's number and takes all cores instead.
#include <algorithm>

#include "anabranch/analysis/concurrency.h"
#include "anabranch/passes/passes.h"
#include "anabranch/passes/thread_sensitive.h"

namespace anabranch::passes {

void share_cores(const Graph& graph, Schedule& schedule, const HappensBefore& order, int cores,
                 const std::vector<int>& caps) {
  std::vector<uint32_t> width = concurrent_streams(graph, schedule, order);
  for (StreamProgram& program : schedule.streams) {
    for (Command& command : program.commands) {
      auto* launch = std::get_if<Launch>(&command);
      if (!launch) continue;
      int cap = caps.empty() ? 0 : caps[launch->node.index()];
      launch->threads = cap;
      launch->exclusive = false;
      uint32_t beside = width[launch->node.index()];
      if (beside <= 1) continue;
      launch->exclusive = is_thread_sensitive(graph, graph.node(launch->node));
      if (launch->exclusive) continue;
      int busy =
          static_cast<int>(std::min<uint32_t>(beside, static_cast<uint32_t>(std::max(1, cores))));
      int share = std::max(1, cores / busy);
      launch->threads = cap > 0 ? std::min(cap, share) : share;
    }
  }
}

}  // namespace anabranch::passes
