// A weight matrix in the layout that a compiled kernel wants, kept from call to call.
#pragma once

#include <ATen/core/TensorBody.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace anabranch::torch_backend {

/// The packed forms of what one value of a program has been: one for each memory, since one program
/// may be called with the weights of several equal layers. Programs that pack the same weight (one
/// for each batch size, say) share its packed form. Thread-safe.
class PackedWeight {
 public:
  explicit PackedWeight(int64_t block) : block_(block) {}

  /// The matrix `weight` [k, n] as [ceil(n / block), k, block]: column blocks, filled up with
  /// zeros. Made anew when the memory, the version of `owner` (the tensor whose memory `weight`
  /// shows) or one of some sampled elements is not what it was. A write that autograd does not see
  /// (through `.data`) is found only by the samples.
  at::Tensor get(const at::Tensor& weight, const at::Tensor& owner);
  /// The packed form of a matrix that other operators may change; not kept.
  at::Tensor pack(const at::Tensor& weight) const;

  /// Of all packed forms that are kept.
  int64_t bytes() const;

 private:
  struct Form;
  std::shared_ptr<const Form> find_or_make(const at::Tensor& weight, Form wanted) const;

  int64_t block_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const Form>> forms_;  // the newest last
};

}  // namespace anabranch::torch_backend
