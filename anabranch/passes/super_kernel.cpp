#include "anabranch/passes/super_kernel.h"

#include <fmt/format.h>

#include <algorithm>

namespace anabranch::passes {
namespace {

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

const std::string& label_of(const Node& node) {
  static const std::string none;
  const std::string* label = find_string(node.attributes, keys::kStreamLabel);
  return label ? *label : none;
}

struct Scope {
  NodeId first;  // its first operator
  NodeId other;  // the first one with another label; invalid when there is none
  bool fusion = false;
};

Diagnostic warning(const Graph& graph, const std::string& name, const Scope& scope) {
  const Node &first = graph.node(scope.first), &other = graph.node(scope.other);
  std::string target = describe(Stream{label_of(first)});
  return {
      Severity::Warning,
      "super-kernel",
      fmt::format("super_kernel \"{}\" has {} on {} and {} on {}: it is one launch unit, so all "
                  "of its operators run on {}, in program order",
                  name, describe(first), target, describe(other), describe(Stream{label_of(other)}),
                  target),
      "give the scope the option stream-fusion=1 to keep its streams, or label all of it alike",
      {first.source, other.source}};
}

}  // namespace

const std::string* super_kernel_of(const Node& node) {
  if (!node.launches()) return nullptr;
  const std::string* scope = find_string(node.attributes, keys::kSuperKernel);
  return scope && !scope->empty() ? scope : nullptr;
}

bool keeps_streams(std::string_view options) {
  bool keeps = false;
  while (!options.empty()) {
    size_t end = std::min(options.find_first_of(":;,"), options.size());
    std::string_view part = options.substr(0, end);
    options.remove_prefix(std::min(end + 1, options.size()));
    size_t equals = part.find('=');
    if (equals == std::string_view::npos || trim(part.substr(0, equals)) != "stream-fusion")
      continue;
    keeps = trim(part.substr(equals + 1)) == "1";
  }
  return keeps;
}

SuperKernels join_super_kernels(const Graph& graph) {
  std::unordered_map<std::string, Scope> scopes;
  std::vector<const std::string*> names;  // in program order
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const std::string* name = super_kernel_of(node);
    if (!name) continue;
    auto [entry, added] = scopes.try_emplace(*name);
    Scope& scope = entry->second;
    if (added) {
      scope.first = NodeId(i);
      names.push_back(&entry->first);
    } else if (!scope.other.valid() && label_of(node) != label_of(graph.node(scope.first))) {
      scope.other = NodeId(i);
    }
    const std::string* options = find_string(node.attributes, keys::kSuperKernelOptions);
    scope.fusion = scope.fusion || (options && keeps_streams(*options));
  }
  SuperKernels found;
  for (const std::string* name : names) {
    const Scope& scope = scopes.at(*name);
    if (!scope.other.valid() || scope.fusion) continue;
    found.label.emplace(*name, label_of(graph.node(scope.first)));
    found.warnings.push_back(warning(graph, *name, scope));
  }
  return found;
}

}  // namespace anabranch::passes
