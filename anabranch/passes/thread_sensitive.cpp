#include "anabranch/passes/thread_sensitive.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace anabranch::passes {
namespace {

enum class When {
  Always,
  FewQueryRows,  // attention splits the keys between threads when the queries give too little work
};

struct Entry {
  std::string_view name;  // "sum" of "aten.sum.dim_IntList"
  When when;
};

// Sorted by name.
constexpr std::array kTable{
    Entry{"_scaled_dot_product_attention_math", When::FewQueryRows},
    Entry{"_scaled_dot_product_flash_attention_for_cpu", When::FewQueryRows},
    Entry{"dot", When::Always},
    Entry{"linalg_vector_norm", When::Always},
    Entry{"logsumexp", When::Always},
    Entry{"mean", When::Always},
    Entry{"nanmean", When::Always},
    Entry{"nansum", When::Always},
    Entry{"norm", When::Always},
    Entry{"prod", When::Always},
    Entry{"scaled_dot_product_attention", When::FewQueryRows},
    Entry{"std", When::Always},
    Entry{"std_mean", When::Always},
    Entry{"sum", When::Always},
    Entry{"var", When::Always},
    Entry{"var_mean", When::Always},
    Entry{"vdot", When::Always},
};
static_assert(std::is_sorted(kTable.begin(), kTable.end(),
                             [](const Entry& a, const Entry& b) { return a.name < b.name; }));

constexpr int64_t kFewQueryRows = 32;

/// "sum" of "aten.sum.dim_IntList".
std::string_view base_name(std::string_view op) {
  size_t begin = op.find('.');
  if (begin == std::string_view::npos) return op;
  op.remove_prefix(begin + 1);
  return op.substr(0, op.find('.'));
}

bool has_few_query_rows(const Graph& graph, const Node& node) {
  if (node.operands.empty()) return true;
  const auto* query = std::get_if<ValueId>(&node.operands.front().value.value);
  const TensorType* type = query ? graph.value(*query).tensor() : nullptr;
  if (!type || type->sizes.size() < 2) return true;
  const Expr& rows = type->sizes[type->sizes.size() - 2];
  return !rows.is_constant() || rows.constant() < kFewQueryRows;
}

}  // namespace

bool is_thread_sensitive(const Graph& graph, const Node& node) {
  std::string_view name = base_name(node.op);
  auto entry = std::lower_bound(kTable.begin(), kTable.end(), name,
                                [](const Entry& e, std::string_view n) { return e.name < n; });
  if (entry == kTable.end() || entry->name != name) return false;
  return entry->when == When::Always || has_few_query_rows(graph, node);
}

}  // namespace anabranch::passes
