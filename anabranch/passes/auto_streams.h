// Automatic streams (option anabranch.auto_streams): which operators that no user placed run beside
// each other.
//
// What may move: operators without a stream label, and operators of a label whose scopes all have
// enable_inner_parallel=True; these move to inner streams of their label. Operators of other
// labels, of the label "" and of a super_kernel scope stay where they are. Each of these groups
// (the operators without label, or those of one label) is split for itself:
//
//   off            nothing moves.
//   cv             of the operators without label those of the matrix unit (operator_class.h) stay
//   on
//                  the default stream, the others go to "auto_vector", asynchronous copies to
//                  "auto_copy" and communication to "auto_comm". With one of the two classes alone
//                  that class stays. Labels are not split.
//   LoadBalance:N  N streams: the group's own and up to N-1 more. Operators are taken in program
//                  order; each goes where it would end first by the costs, with the cost of a wait
//                  added for every operand from another stream, and of equal ends where less work
//                  lies so far. (List scheduling by earliest finish time, as in Topcuoglu, Hariri
//                  and Wu, "Performance-effective and low-complexity task scheduling for
//                  heterogeneous computing", 2002, with program order as the priority: launch order
//                  stays program order.)
//   MainStream:N   the group's longest chain by the costs stays on the group's stream; all other
//                  operators go to up to N-1 further streams, chosen as in LoadBalance. N = 1:
//                  nothing moves.
//   auto           compares one stream with cv, LoadBalance:k and MainStream:k for k from 2 to the
//                  cores (at most 8), communication without label on "auto_comm" in each, by the
//                  predicted duration of a call (analysis/makespan.h: waits, cores, threads). Takes
//                  the shortest if it saves 5 % or more, else moves nothing.
//
// <prefix> is the label, or "auto" for operators without one; further streams are "<prefix>_0",
// "<prefix>_1" and so on. No such name is ever a label of the graph (passes/stream_names.h). Moved
// operators get `_stream_label`, never `_user_stream_label`. Streams that get nothing are not made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "anabranch/analysis/cost.h"
#include "anabranch/base/diagnostic.h"
#include "anabranch/ir/graph.h"

namespace anabranch::passes {

struct AutoStreams {
  enum class Mode : uint8_t { Off, Cv, LoadBalance, MainStream, Auto };
  Mode mode = Mode::Off;
  int count = 1;  // N of LoadBalance and MainStream, 1 to 64
  bool operator==(const AutoStreams&) const = default;
};

/// "off", "cv", "LoadBalance:4", "MainStream:2", "auto". Throws Error ("bad-option") that lists
/// them.
AutoStreams parse_auto_streams(std::string_view text);
std::string to_string(const AutoStreams& mode);

/// After assign_streams and place_inner_streams, before events. `caps` bounds threads as in
/// share_cores. Adds streams to the graph. Returns
/// one note that says what was decided and why; nothing for "off".
std::optional<Diagnostic> place_automatic_streams(Graph& graph, const AutoStreams& mode,
                                                  const CostModel& costs,
                                                  const std::vector<int>& caps);

}  // namespace anabranch::passes
