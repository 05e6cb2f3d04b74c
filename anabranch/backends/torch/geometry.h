// Sizes, strides and offsets of tensors in one call, and tensors made from them without an
// operator.
#pragma once

#include <ATen/core/TensorBody.h>
#include <c10/util/SmallVector.h>

#include <string>

#include "anabranch/ir/conflict.h"
#include "anabranch/ir/type.h"

namespace anabranch::torch_backend {

at::ScalarType to_scalar_type(DType dtype);

/// Sizes, strides and offset as numbers. Counts elements.
struct Window {
  c10::SmallVector<int64_t, 5> sizes;
  c10::SmallVector<int64_t, 5> strides;
  int64_t offset = 0;
};

/// A captured tensor type, ready to be compared with tensors and to make them. Immutable.
class Geometry {
 public:
  explicit Geometry(const TensorType& type);

  at::ScalarType dtype() const { return dtype_; }
  bool is_static() const { return is_static_; }
  /// The window of this call: the stored one when it is static, else evaluated into `scratch`.
  /// Throws Error ("unbound-symbol").
  const Window& window(const SymbolTable& symbols, Window& scratch) const;
  /// Bytes from the start of the buffer to the first element.
  int64_t byte_offset(const SymbolTable& symbols) const;
  /// True if the two types describe the same elements of a buffer in every call.
  bool same_elements(const Geometry& other) const { return type_ == other.type_; }

  bool conjugate() const { return type_.conjugate; }
  bool negative() const { return type_.negative; }
  const TensorType& type() const { return type_; }

 private:
  TensorType type_;
  at::ScalarType dtype_;
  bool is_static_;
  Window static_window_;
};

/// True if sizes agree, and strides agree in every dimension in which they matter (more than one
/// element, tensor not empty).
bool same_layout(const Window& window, const at::Tensor& tensor);

/// `f32[4,8](8,1) cpu` of a tensor, for messages.
std::string describe(const at::Tensor& tensor);
/// The same of a captured type in this call.
std::string describe(const Geometry& geometry, const SymbolTable& symbols);

/// A tensor on the memory of `root`, whose captured geometry is `root_geometry`, that shows
/// `geometry`. The difference of the two captured offsets is applied to the offset that `root`
/// really has. Throws when the window would leave the storage.
at::Tensor make_window(const at::Tensor& root, const Geometry& root_geometry,
                       const Geometry& geometry, const SymbolTable& symbols);

/// A tensor of static geometry on memory that outlives it, with a storage of its own that cannot
/// grow.
at::Tensor make_placed(void* memory, size_t bytes, const Geometry& geometry);

/// Makes `placed`, a tensor of make_placed, and all windows on it show the memory of `tensor`,
/// whose captured geometry is `geometry`: `reach` are the captured bytes that they show together,
/// in elements of up to `alignment` bytes. Throws when they would leave the storage.
void point_at(const at::Tensor& placed, const at::Tensor& tensor, const Geometry& geometry,
              ByteRange reach, int64_t alignment, bool written);
/// Nothing may use the windows until the next point_at.
void forget_memory(const at::Tensor& placed) noexcept;
/// True if the tensor's memory is that of make_placed: it may go while the tensor is still there.
bool is_borrowed(const at::Tensor& tensor);

/// A copy of `tensor` whose strides are the captured ones, so that windows on it are right. Throws
/// when the sizes differ.
at::Tensor conform(const at::Tensor& tensor, const Geometry& geometry, const SymbolTable& symbols);

}  // namespace anabranch::torch_backend
