#include "anabranch/passes/thread_sensitive.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace anabranch::passes {
namespace {

enum class When {
  Always,
  OneQueryRow,  // attention of a decode step splits the keys between threads
  Training,     // batch normalisation sums the batch; with given statistics it sums nothing
};

struct Entry {
  std::string_view name;  // "sum" of "aten.sum.dim_IntList"
  When when;
};

// Sorted by name. Found by comparing the bits of one and of several threads over many sizes;
// relatives of an operator that differed (a norm is a sum) are listed with it.
constexpr std::array kTable{
    Entry{"_adaptive_avg_pool2d", When::Always},
    Entry{"_batch_norm_with_update", When::Always},
    Entry{"_batch_norm_with_update_functional", When::Always},
    Entry{"_cdist_forward", When::Always},
    Entry{"_fft_c2c", When::Always},
    Entry{"_fft_c2r", When::Always},
    Entry{"_fft_r2c", When::Always},
    Entry{"_linalg_det", When::Always},
    Entry{"_linalg_eigh", When::Always},
    Entry{"_linalg_slogdet", When::Always},
    Entry{"_linalg_solve_ex", When::Always},
    Entry{"_linalg_svd", When::Always},
    Entry{"_native_batch_norm_legit", When::Training},
    Entry{"_native_batch_norm_legit_functional", When::Always},
    Entry{"_scaled_dot_product_attention_math", When::OneQueryRow},
    Entry{"_scaled_dot_product_flash_attention_for_cpu", When::OneQueryRow},
    Entry{"_softmax_backward_data", When::Always},
    Entry{"adaptive_avg_pool2d", When::Always},
    Entry{"batch_norm", When::Training},
    Entry{"batch_norm_backward", When::Always},
    Entry{"binary_cross_entropy", When::Always},
    Entry{"cdist", When::Always},
    Entry{"cholesky", When::Always},
    Entry{"cholesky_inverse", When::Always},
    Entry{"cholesky_solve", When::Always},
    Entry{"convolution_backward", When::Always},
    Entry{"cosine_similarity", When::Always},
    Entry{"dot", When::Always},
    Entry{"geqrf", When::Always},
    Entry{"group_norm", When::Always},
    Entry{"huber_loss", When::Always},
    Entry{"l1_loss", When::Always},
    Entry{"linalg_cholesky", When::Always},
    Entry{"linalg_cholesky_ex", When::Always},
    Entry{"linalg_det", When::Always},
    Entry{"linalg_eig", When::Always},
    Entry{"linalg_eigh", When::Always},
    Entry{"linalg_eigvals", When::Always},
    Entry{"linalg_eigvalsh", When::Always},
    Entry{"linalg_householder_product", When::Always},
    Entry{"linalg_inv", When::Always},
    Entry{"linalg_inv_ex", When::Always},
    Entry{"linalg_ldl_factor_ex", When::Always},
    Entry{"linalg_ldl_solve", When::Always},
    Entry{"linalg_lstsq", When::Always},
    Entry{"linalg_lu", When::Always},
    Entry{"linalg_lu_factor", When::Always},
    Entry{"linalg_lu_factor_ex", When::Always},
    Entry{"linalg_lu_solve", When::Always},
    Entry{"linalg_matrix_exp", When::Always},
    Entry{"linalg_pinv", When::Always},
    Entry{"linalg_qr", When::Always},
    Entry{"linalg_slogdet", When::Always},
    Entry{"linalg_solve", When::Always},
    Entry{"linalg_solve_ex", When::Always},
    Entry{"linalg_solve_triangular", When::Always},
    Entry{"linalg_svd", When::Always},
    Entry{"linalg_svdvals", When::Always},
    Entry{"linalg_vector_norm", When::Always},
    Entry{"logsumexp", When::Always},
    Entry{"mean", When::Always},
    Entry{"mse_loss", When::Always},
    Entry{"nanmean", When::Always},
    Entry{"nansum", When::Always},
    Entry{"native_batch_norm", When::Training},
    Entry{"native_batch_norm_backward", When::Always},
    Entry{"native_group_norm", When::Always},
    Entry{"native_group_norm_backward", When::Always},
    Entry{"native_layer_norm_backward", When::Always},
    Entry{"norm", When::Always},
    Entry{"ormqr", When::Always},
    Entry{"prod", When::Always},
    Entry{"scaled_dot_product_attention", When::OneQueryRow},
    Entry{"smooth_l1_loss", When::Always},
    Entry{"std", When::Always},
    Entry{"std_mean", When::Always},
    Entry{"sum", When::Always},
    Entry{"trace", When::Always},
    Entry{"triangular_solve", When::Always},
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

/// (input, weight, bias, running_mean, running_var, training, …); a form without statistics trains.
bool uses_batch_statistics(const Node& node) {
  constexpr size_t kTraining = 5;
  if (node.operands.size() <= kTraining) return true;
  const bool* training = std::get_if<bool>(&node.operands[kTraining].value.value);
  return !training || *training;
}

bool applies(When when, const Graph& graph, const Node& node) {
  switch (when) {
    case When::Always: return true;
    case When::OneQueryRow: return has_one_query_row(graph, node);
    case When::Training: return uses_batch_statistics(node);
  }
  return true;
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
  return applies(entry->when, graph, node);
}

}  // namespace anabranch::passes
