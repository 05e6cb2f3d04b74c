#include "anabranch/ir/communication.h"

#include <algorithm>

namespace anabranch {

bool communicates(const Node& node) {
  // The second half has no effect of its own: its order is its operand's.
  return node.op.find("c10d_functional.wait_tensor") != std::string::npos ||
         std::any_of(node.effects.begin(), node.effects.end(),
                     [](const Effect& effect) { return effect.kind == EffectKind::Collective; });
}

bool works_alone(const Node& node) {
  return node.bodies.empty() && !communicates(node) &&
         std::all_of(node.effects.begin(), node.effects.end(),
                     [](const Effect& effect) { return effect.kind == EffectKind::Random; });
}

}  // namespace anabranch
