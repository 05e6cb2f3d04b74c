// Recorded calls as a timeline.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "anabranch/ir/graph.h"
#include "anabranch/runtime/recorder.h"
#include "anabranch/schedule/timeline.h"

namespace anabranch {

/// What a span shows as its operator's type: "MatMul" for aten.mm.default.
using TypeNames = std::function<std::string(const Node&)>;

/// Appends one recorded call. Calls of several programs may share a timeline: streams are matched
/// by label, and spans carry the graph's name and `call`. `origin` is the steady clock's time
/// (now_ns) of the timeline's 0. Wait operators, which run no kernel, are spans too. `type_of` may
/// be empty: then the type is the operator's name.
void append_call(Timeline& timeline, const Graph& graph, const Schedule& schedule,
                 const Recorder& recorder, int call, int64_t origin, const TypeNames& type_of = {});

}  // namespace anabranch
