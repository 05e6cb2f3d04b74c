#include "anabranch/backends/torch/split_product.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "anabranch/backends/torch/thread_count.h"

// Weak: the copy that torch has loaded. Fortran's interface: column-major, everything by address.
extern "C" void sgemm_(const char* transa, const char* transb, const int* m, const int* n,
                       const int* k, const float* alpha, const float* a, const int* lda,
                       const float* b, const int* ldb, const float* beta, float* c, const int* ldc)
    __attribute__((weak));

namespace anabranch::torch_backend {
namespace {

// More rows reuse what they read, and MKL's own threads do well.
constexpr int64_t kMostRows = 64;
// Below, waking a thread costs more than its part saves.
constexpr int64_t kFewestWeights = int64_t{1} << 16;
constexpr int64_t kAlign = 16;  // columns: a cache line of the result

/// Whether parts were seen to round as the whole product does (MKL 2024, AVX2): its kernels for
/// five rows, and those for a rest of fewer columns, sum in another order for another width.
bool keeps_bits(int64_t rows, int64_t columns) { return rows != 5 && columns % kAlign == 0; }

/// Two-dimensional f32 of known sizes.
const TensorType* matrix(const Graph& graph, const Node& node, size_t operand) {
  if (operand >= node.operands.size() || !node.operands[operand].name.empty()) return nullptr;
  const auto* value = std::get_if<ValueId>(&node.operands[operand].value.value);
  const TensorType* type = value ? graph.value(*value).tensor() : nullptr;
  bool plain = type && type->dtype == DType::F32 && type->sizes.size() == 2 && !type->negative &&
               type->sizes[0].is_constant() && type->sizes[1].is_constant();
  return plain ? type : nullptr;
}

ValueId value_of(const Node& node, size_t operand) {
  return std::get<ValueId>(node.operands[operand].value.value);
}

bool is_vector_of(const Graph& graph, const Node& node, size_t operand, int64_t size) {
  const auto* value = std::get_if<ValueId>(&node.operands[operand].value.value);
  const TensorType* type = value ? graph.value(*value).tensor() : nullptr;
  return type && type->dtype == DType::F32 && type->sizes.size() == 1 && !type->negative &&
         type->sizes[0].is_constant() && type->sizes[0].constant() == size;
}

bool fits_int(int64_t value) { return value <= std::numeric_limits<int>::max(); }

/// A matrix as BLAS takes it: `lead` elements from one row (or column) to the next.
struct Lines {
  const float* data = nullptr;
  int lead = 0;
  bool columns = false;  // the first index runs fastest
};

std::optional<Lines> lines(const at::Tensor& tensor) {
  int64_t rows = tensor.size(0), columns = tensor.size(1);
  int64_t down = tensor.stride(0), across = tensor.stride(1);
  const float* data = tensor.const_data_ptr<float>();
  if ((across == 1 || columns == 1) && (down >= columns || rows == 1)) {
    int64_t lead = std::max({down, columns, int64_t{1}});
    if (fits_int(lead)) return Lines{data, static_cast<int>(lead), false};
  } else if ((down == 1 || rows == 1) && (across >= rows || columns == 1)) {
    int64_t lead = std::max({across, rows, int64_t{1}});
    if (fits_int(lead)) return Lines{data, static_cast<int>(lead), true};
  }
  return std::nullopt;
}

}  // namespace

std::optional<SplitProduct> SplitProduct::of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  bool adds = node.op == "aten.addmm.default";
  if (!sgemm_ || node.kind != NodeKind::Operator || !(adds || node.op == "aten.mm.default"))
    return {};
  size_t first = adds ? 1 : 0;
  if (node.operands.size() != first + 2) return {};  // beta and alpha are 1
  const TensorType *rows = matrix(graph, node, first), *weights = matrix(graph, node, first + 1);
  if (!rows || !weights) return {};
  int64_t m = rows->sizes[0].constant(), k = weights->sizes[0].constant(),
          n = weights->sizes[1].constant();
  if (m < 1 || m > kMostRows || n < 2 * kAlign || k * n < kFewestWeights) return {};
  if (!keeps_bits(m, n)) return {};
  if (!fits_int(k) || !fits_int(n) || (adds && !is_vector_of(graph, node, 0, n))) return {};
  SplitProduct product;
  product.rows_ = value_of(node, first);
  product.weights_ = value_of(node, first + 1);
  if (adds) product.bias_ = value_of(node, 0);
  product.result_ = node.results[0];
  return product;
}

bool SplitProduct::run(int parts, PartRunner& runner, const OperandSource& source,
                       const at::Tensor& out) const {
  at::Tensor rows = source.tensor(rows_), weights = source.tensor(weights_), bias;
  if (bias_.valid()) bias = source.tensor(bias_);
  std::optional<Lines> x = lines(rows), w = lines(weights);
  bool strided_bias = bias.defined() && bias.stride(0) != 1;
  if (!x || x->columns || !w || strided_bias || !out.is_contiguous()) return false;
  const int m = static_cast<int>(out.size(0)), n = static_cast<int>(out.size(1)),
            k = static_cast<int>(rows.size(1));
  const float* added = bias.defined() ? bias.const_data_ptr<float>() : nullptr;
  auto* result = out.mutable_data_ptr<float>();
  int64_t blocks = (n + kAlign - 1) / kAlign;
  parts = static_cast<int>(std::min<int64_t>(parts, blocks));
  auto begin_of = [&](int part) {
    return static_cast<int>(std::min<int64_t>(n, blocks * part / parts * kAlign));
  };
  auto task = [&](int part) {
    ThreadCount count;
    count.use({1, 1});
    int begin = begin_of(part), width = begin_of(part + 1) - begin;
    for (int row = 0; added && row < m; ++row)
      std::memcpy(result + int64_t{row} * n + begin, added + begin,
                  static_cast<size_t>(width) * sizeof(float));
    // In BLAS's column-major eyes: out^T = weights^T × rows^T, of which a part makes some rows.
    const float scale = 1, keep = added ? 1 : 0;
    const float* from = w->data + (w->columns ? int64_t{begin} * w->lead : begin);
    sgemm_(w->columns ? "T" : "N", "N", &width, &m, &k, &scale, from, &w->lead, x->data, &x->lead,
           &keep, result + begin, &n);
  };
  runner.run(parts, task);
  return true;
}

}  // namespace anabranch::torch_backend
