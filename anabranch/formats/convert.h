// Between graphs and dumps. docs/formats.md says what each attribute means.
#pragma once

#include "anabranch/formats/dump.h"
#include "anabranch/ir/graph.h"

namespace anabranch::formats {

/// Attributes that a GE dump has no other place for.
namespace keys {
/// One string per result when descriptors do not tell its memory: "f16[4,8](1,4) @b3 view of w:0".
inline constexpr std::string_view kMemory = "_anabranch_memory";
/// Effects, "random cpu": kind, space, resource.
inline constexpr std::string_view kEffects = "_anabranch_effects";
/// "model.py:12 in forward".
inline constexpr std::string_view kSource = "_anabranch_source";
}  // namespace keys

/// A graph of ours as a dump: GE operator types, dump names (type, type_1, …), descriptors,
/// Identity for waits, one NetOutput. Writes every control edge the graph has.
DumpGraph to_dump(const Graph& graph);

/// A dump as a graph, to be scheduled and verified: types become operator names, data inputs become
/// values, control inputs control edges, labels attributes. Descriptors give types where they
/// exist; unknown sizes become symbols. Operators are sorted topologically, file order breaking
/// ties. Throws Error ("duplicate-name", "unknown-producer", "cycle", "bad-attribute").
Graph from_dump(const DumpGraph& dump);

}  // namespace anabranch::formats
