#include "anabranch/passes/thread_sensitive.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace anabranch::passes {
namespace {

enum class When {
  Always,
  OneQueryRow,  // attention of a decode step splits the keys between threads
};

struct Entry {
  std::string_view name;  // "sum" of "aten.sum.dim_IntList"
  When when;
};

// Sorted by name. Found by comparing the bits of one and of several threads over many sizes;
// relatives of an operator that differed (a norm is a sum) are listed with it.
constexpr std::array kTable{
    Entry{"_adaptive_avg_pool2d", When::Always},
    Entry{"_fft_c2c", When::Always},
    Entry{"_fft_c2r", When::Always},
    Entry{"_fft_r2c", When::Always},
    Entry{"_scaled_dot_product_attention_math", When::OneQueryRow},
    Entry{"_scaled_dot_product_flash_attention_for_cpu", When::OneQueryRow},
    Entry{"adaptive_avg_pool2d", When::Always},
    Entry{"binary_cross_entropy", When::Always},
    Entry{"cosine_similarity", When::Always},
    Entry{"dot", When::Always},
    Entry{"huber_loss", When::Always},
    Entry{"l1_loss", When::Always},
    Entry{"linalg_vector_norm", When::Always},
    Entry{"logsumexp", When::Always},
    Entry{"mean", When::Always},
    Entry{"mse_loss", When::Always},
    Entry{"nanmean", When::Always},
    Entry{"nansum", When::Always},
    Entry{"norm", When::Always},
    Entry{"prod", When::Always},
    Entry{"scaled_dot_product_attention", When::OneQueryRow},
    Entry{"smooth_l1_loss", When::Always},
    Entry{"std", When::Always},
    Entry{"std_mean", When::Always},
    Entry{"sum", When::Always},
    Entry{"trace", When::Always},
    Entry{"var", When::Always},
    Entry{"var_mean", When::Always},
    Entry{"vdot", When::Always},
};
static_assert(std::is_sorted(kTable.begin(), kTable.end(),
                             [](const Entry& a, const Entry& b) { return a.name < b.name; }));

/// "sum" of "aten.sum.dim_IntList".
std::string_view base_name(std::string_view op) {
  size_t begin = op.find('.');
  if (begin == std::string_view::npos) return op;
  op.remove_prefix(begin + 1);
  return op.substr(0, op.find('.'));
}

bool has_one_query_row(const Graph& graph, const Node& node) {
  if (node.operands.empty()) return true;
  const auto* query = std::get_if<ValueId>(&node.operands.front().value.value);
  const TensorType* type = query ? graph.value(*query).tensor() : nullptr;
  if (!type || type->sizes.size() < 2) return true;
  const Expr& rows = type->sizes[type->sizes.size() - 2];
  return !rows.is_constant() || rows.constant() <= 1;
}

}  // namespace

bool is_thread_sensitive(const Graph& graph, const Node& node) {
  for (const auto& body : node.bodies) {
    for (const Node& inner : body->nodes) {
      if (is_thread_sensitive(*body, inner)) return true;
    }
  }
  std::string_view name = base_name(node.op);
  auto entry = std::lower_bound(kTable.begin(), kTable.end(), name,
                                [](const Entry& e, std::string_view n) { return e.name < n; });
  if (entry == kTable.end() || entry->name != name) return false;
  return entry->when == When::Always || has_one_query_row(graph, node);
}

}  // namespace anabranch::passes
