#include "anabranch/passes/own_stream.h"

#include <algorithm>

#include "anabranch/ir/communication.h"

namespace anabranch::passes {
namespace {

bool is_true(const Argument& argument) {
  const bool* flag = std::get_if<bool>(&argument.value);
  return flag != nullptr && *flag;
}

bool is_asynchronous_copy(const Node& node) {
  if (node.op.find("prefetch") != node.op.npos || node.op.find("Prefetch") != node.op.npos)
    return true;
  bool copies = node.op.starts_with("aten.copy") || node.op.starts_with("aten._to_copy");
  if (!copies) return false;
  // copy_(self, src, non_blocking)
  if (node.operands.size() > 2 && node.operands[2].name.empty() &&
      is_true(node.operands[2].value)) {
    return true;
  }
  return std::any_of(node.operands.begin(), node.operands.end(), [](const Operand& operand) {
    return operand.name == "non_blocking" && is_true(operand.value);
  });
}

}  // namespace

OwnStream own_stream(const Node& node) {
  if (node.kind != NodeKind::Operator) return OwnStream::None;
  if (communicates(node) || node.op.starts_with("Hcom")) return OwnStream::Communication;
  return is_asynchronous_copy(node) ? OwnStream::Copy : OwnStream::None;
}

}  // namespace anabranch::passes
