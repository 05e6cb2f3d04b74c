#include "anabranch/backends/torch/geometry.h"

#include <ATen/ops/empty_strided.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "anabranch/base/diagnostic.h"

namespace anabranch::torch_backend {

at::ScalarType to_scalar_type(DType dtype) {
  switch (dtype) {
    case DType::Bool: return at::kBool;
    case DType::U8: return at::kByte;
    case DType::U16: return at::kUInt16;
    case DType::U32: return at::kUInt32;
    case DType::U64: return at::kUInt64;
    case DType::I8: return at::kChar;
    case DType::I16: return at::kShort;
    case DType::I32: return at::kInt;
    case DType::I64: return at::kLong;
    case DType::F16: return at::kHalf;
    case DType::BF16: return at::kBFloat16;
    case DType::F32: return at::kFloat;
    case DType::F64: return at::kDouble;
    case DType::F8E4M3FN: return at::kFloat8_e4m3fn;
    case DType::F8E5M2: return at::kFloat8_e5m2;
    case DType::F8E4M3FNUZ: return at::kFloat8_e4m3fnuz;
    case DType::F8E5M2FNUZ: return at::kFloat8_e5m2fnuz;
    case DType::C32: return at::kComplexHalf;
    case DType::C64: return at::kComplexFloat;
    case DType::C128: return at::kComplexDouble;
  }
  return at::ScalarType::Undefined;
}

namespace {

void evaluate(const TensorType& type, const SymbolTable& symbols, Window& window) {
  window.sizes.clear();
  window.strides.clear();
  for (const Expr& size : type.sizes) window.sizes.push_back(size.evaluate(symbols));
  for (const Expr& stride : type.strides) window.strides.push_back(stride.evaluate(symbols));
  window.offset = type.offset.evaluate(symbols);
}

std::string short_name(at::ScalarType dtype) {
  for (uint8_t i = 0; i <= static_cast<uint8_t>(DType::C128); ++i) {
    auto candidate = static_cast<DType>(i);
    if (to_scalar_type(candidate) == dtype) return std::string(to_string(candidate));
  }
  return c10::toString(dtype);
}

[[noreturn]] void fail_outside(const std::string& what, int64_t bytes) {
  throw Error("view-outside-memory", fmt::format("{} leaves its storage of {} bytes", what, bytes),
              "pass tensors whose storage has the size that it had when the graph was captured");
}

[[noreturn]] void fail_misaligned(std::string_view dtype, int64_t byte) {
  throw Error("view-misaligned", fmt::format("a view as {} would start at byte {}", dtype, byte),
              "pass a tensor whose storage offset is a multiple of the view's element size");
}

/// Throws unless elements `offset` … of the window lie inside `bytes` bytes of storage.
void check_inside(const Window& window, int64_t offset, int64_t element_bytes, int64_t bytes) {
  int64_t low = offset, high = offset;
  for (size_t i = 0; i < window.sizes.size(); ++i) {
    if (window.sizes[i] == 0) return;
    int64_t reach = (window.sizes[i] - 1) * window.strides[i];
    (reach < 0 ? low : high) += reach;
  }
  if (low >= 0 && (high + 1) * element_bytes <= bytes) return;
  fail_outside(fmt::format("a view [{}] with strides ({}) at offset {}",
                           fmt::join(window.sizes, ","), fmt::join(window.strides, ","), offset),
               bytes);
}

}  // namespace

Geometry::Geometry(const TensorType& type)
    : type_(type), dtype_(to_scalar_type(type.dtype)), is_static_(type.is_static()) {
  if (is_static_) evaluate(type_, {}, static_window_);
}

const Window& Geometry::window(const SymbolTable& symbols, Window& scratch) const {
  if (is_static_) return static_window_;
  evaluate(type_, symbols, scratch);
  return scratch;
}

int64_t Geometry::byte_offset(const SymbolTable& symbols) const {
  int64_t offset = is_static_ ? static_window_.offset : type_.offset.evaluate(symbols);
  return offset * static_cast<int64_t>(size_of(type_.dtype));
}

bool same_layout(const Window& window, const at::Tensor& tensor) {
  at::IntArrayRef sizes = tensor.sizes(), strides = tensor.strides();
  if (sizes != at::IntArrayRef(window.sizes)) return false;
  if (tensor.numel() == 0) return true;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != 1 && strides[i] != window.strides[i]) return false;
  }
  return true;
}

std::string describe(const at::Tensor& tensor) {
  if (!tensor.defined()) return "an undefined tensor";
  std::string text = short_name(tensor.scalar_type());
  if (tensor.layout() != at::kStrided) return text + " with a layout that is not strided";
  text += fmt::format("[{}]({}) on {}", fmt::join(tensor.sizes(), ","),
                      fmt::join(tensor.strides(), ","), tensor.device().str());
  if (tensor.is_conj()) text += " conj";
  if (tensor.is_neg()) text += " neg";
  return text;
}

std::string describe(const Geometry& geometry, const SymbolTable& symbols) {
  Window scratch;
  const Window& window = geometry.window(symbols, scratch);
  std::string text = fmt::format("{}[{}]({}) on cpu", to_string(geometry.type().dtype),
                                 fmt::join(window.sizes, ","), fmt::join(window.strides, ","));
  if (geometry.conjugate()) text += " conj";
  if (geometry.negative()) text += " neg";
  return text;
}

at::Tensor make_window(const at::Tensor& root, const Geometry& root_geometry,
                       const Geometry& geometry, const SymbolTable& symbols) {
  Window scratch;
  const Window& window = geometry.window(symbols, scratch);
  auto element_bytes = static_cast<int64_t>(size_of(geometry.type().dtype));
  int64_t begin = root.storage_offset() * static_cast<int64_t>(root.itemsize()) +
                  geometry.byte_offset(symbols) - root_geometry.byte_offset(symbols);
  if (begin < 0 || begin % element_bytes != 0)
    fail_misaligned(to_string(geometry.type().dtype), begin);
  check_inside(window, begin / element_bytes, element_bytes,
               static_cast<int64_t>(root.storage().nbytes()));
  c10::DispatchKeySet keys = root.key_set() - c10::DispatchKeySet({c10::DispatchKey::Conjugate,
                                                                   c10::DispatchKey::Negative});
  auto view =
      at::detail::make_tensor<c10::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(root.storage()),
                                               keys, c10::scalarTypeToTypeMeta(geometry.dtype()));
  c10::TensorImpl* impl = view.unsafeGetTensorImpl();
  impl->set_sizes_and_strides(at::IntArrayRef(window.sizes), at::IntArrayRef(window.strides),
                              begin / element_bytes);
  if (geometry.conjugate()) impl->_set_conj(true);
  if (geometry.negative()) impl->_set_neg(true);
  return view;
}

at::Tensor make_placed(void* memory, size_t bytes, const Geometry& geometry) {
  c10::Storage storage(c10::Storage::use_byte_size_t(), bytes,
                       c10::DataPtr(memory, c10::Device(c10::DeviceType::CPU)), nullptr,
                       /*resizable=*/false);
  // An ordinary tensor, whatever mode the caller is in: calls in other modes will use it too.
  c10::InferenceMode ordinary(false);
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU),
      c10::scalarTypeToTypeMeta(geometry.dtype()));
  Window scratch;
  const Window& window = geometry.window({}, scratch);
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(window.sizes, window.strides, window.offset);
  return tensor;
}

void point_at(const at::Tensor& placed, const at::Tensor& tensor, const Geometry& geometry,
              ByteRange reach, int64_t alignment, bool written) {
  c10::StorageImpl* from = tensor.storage().unsafeGetStorageImpl();
  // Bytes by which the tensor lies further back in its storage than the captured one did.
  int64_t shift =
      tensor.storage_offset() * static_cast<int64_t>(tensor.itemsize()) - geometry.byte_offset({});
  auto bytes = static_cast<int64_t>(from->nbytes());
  if (shift % alignment != 0) fail_misaligned("a longer type", shift);
  if (!reach.empty() && (reach.begin + shift < 0 || reach.end + shift > bytes)) {
    fail_outside(fmt::format("a view of bytes {} to {}", reach.begin + shift, reach.end + shift),
                 bytes);
  }
  // Asking for memory to write ends what torch shares until somebody writes.
  const void* memory = written ? from->mutable_data() : from->data();
  auto* start = static_cast<char*>(const_cast<void*>(memory));
  c10::StorageImpl* to = placed.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
  to->set_data_ptr_noswap(
      c10::DataPtr(start ? start + shift : start, c10::Device(c10::DeviceType::CPU)));
}

void forget_memory(const at::Tensor& placed) noexcept {
  c10::StorageImpl* storage = placed.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
  storage->set_data_ptr_noswap(c10::DataPtr(nullptr, c10::Device(c10::DeviceType::CPU)));
}

bool is_borrowed(const at::Tensor& tensor) {
  if (!tensor.has_storage()) return false;
  const c10::DataPtr& memory = tensor.unsafeGetTensorImpl()->unsafe_storage().data_ptr();
  return memory.get() && !memory.get_context();
}

at::Tensor conform(const at::Tensor& tensor, const Geometry& geometry, const SymbolTable& symbols) {
  Window scratch;
  const Window& window = geometry.window(symbols, scratch);
  if (tensor.sizes() != at::IntArrayRef(window.sizes)) {
    throw Error(
        "result-shape",
        fmt::format("the operator returned {} where {} was captured", describe(tensor),
                    describe(geometry, symbols)),
        "an operator's fake (meta) implementation must give the sizes that the real one gives");
  }
  at::Tensor copy = at::empty_strided(window.sizes, window.strides, tensor.options());
  copy.copy_(tensor);
  return copy;
}

}  // namespace anabranch::torch_backend
