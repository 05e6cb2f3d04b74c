#include "anabranch/backends/torch/out_variant.h"

#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace anabranch::torch_backend {
namespace {

/// aten's overloads by operator name. Those that libraries add later have no kernels of interest.
const std::vector<c10::OperatorName>& overloads_of(const std::string& name) {
  static const auto* table = [] {
    auto* made = new std::unordered_map<std::string, std::vector<c10::OperatorName>>;
    for (const c10::OperatorName& found : c10::Dispatcher::singleton().getAllOpNames()) {
      if (found.name.starts_with("aten::")) (*made)[found.name].push_back(found);
    }
    return made;
  }();
  static const std::vector<c10::OperatorName> none;
  auto found = table->find(name);
  return found == table->end() ? none : found->second;
}

bool is_plain_result(const c10::Argument& result) {
  return result.type()->kind() == c10::TypeKind::TensorType && result.alias_info() == nullptr;
}

bool same_argument(const c10::Argument& a, const c10::Argument& b) {
  return a.name() == b.name() && *a.real_type() == *b.real_type() && a.alias_info() == nullptr &&
         b.alias_info() == nullptr;
}

bool takes_outputs(const c10::FunctionSchema& functional, const c10::FunctionSchema& candidate) {
  size_t arguments = functional.arguments().size(), results = functional.returns().size();
  if (candidate.arguments().size() != arguments + results) return false;
  for (size_t i = 0; i < arguments; ++i) {
    if (!same_argument(functional.arguments()[i], candidate.arguments()[i])) return false;
  }
  for (size_t i = 0; i < results; ++i) {
    const c10::Argument& out = candidate.arguments()[arguments + i];
    if (!out.is_out() || out.type()->kind() != c10::TypeKind::TensorType) return false;
  }
  return true;
}

std::optional<c10::OperatorHandle> search(const c10::OperatorHandle& functional) {
  const c10::FunctionSchema& schema = functional.schema();
  if (schema.returns().empty()) return std::nullopt;
  for (const c10::Argument& result : schema.returns()) {
    if (!is_plain_result(result)) return std::nullopt;
  }
  for (const c10::OperatorName& name : overloads_of(schema.name())) {
    auto handle = c10::Dispatcher::singleton().findSchema(name);
    if (!handle || !takes_outputs(schema, handle->schema())) continue;
    if (handle->hasKernelForDispatchKey(c10::DispatchKey::CPU)) return handle;
  }
  return std::nullopt;
}

}  // namespace

std::optional<c10::OperatorHandle> find_out_variant(const c10::OperatorHandle& functional) {
  static auto* known =
      new std::unordered_map<c10::OperatorHandle, std::optional<c10::OperatorHandle>>;
  static auto* mutex = new std::mutex;
  std::lock_guard lock(*mutex);
  auto found = known->find(functional);
  if (found == known->end()) found = known->emplace(functional, search(functional)).first;
  return found->second;
}

}  // namespace anabranch::torch_backend
