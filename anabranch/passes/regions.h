// Regions: connected operators of one stream that somebody else (Inductor) turns into fewer steps.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "anabranch/ir/graph.h"

namespace anabranch::passes {

/// What may happen to an operator: nothing, or to become part of a region that has at least two
/// connected operators, or of any region, or a region that has no other operator.
enum class Fusion : uint8_t { None, WithOthers, Alone, ByItself };
using Fusible = std::function<Fusion(const Node&)>;

/// A convex part of a graph: no path leaves it and comes back.
struct Region {
  std::vector<NodeId> operators;  // program order, with the views that only lie between them
  std::vector<ValueId> inputs;    // tensors from outside, in order of first use
  std::vector<ValueId> outputs;   // results of operators that somebody outside uses
};

/// regions.cpp: the regions of a graph whose streams are assigned and whose effects are ordered.
/// Each lies between two synchronisation points of its stream and has operators of equal scope
/// attributes. Beside what `fusible` says, an operator must be functional, of static shape, and
/// make memory of its own. Regions have no operator in common and come in program order.
std::vector<Region> find_regions(const Graph& graph, const Fusible& fusible);

/// replace_regions.cpp: puts the steps in the place of each region. The inputs and returned values
/// of `steps[i]` stand for those of `regions[i]`; nullptr keeps the operators. A step has stream,
/// attributes and source line of the region's last operator. Effect edges are made anew. Throws
/// Error ("region-steps") when the steps do not fit their region.
void replace_regions(Graph& graph, const std::vector<Region>& regions,
                     const std::vector<const Graph*>& steps);

}  // namespace anabranch::passes
