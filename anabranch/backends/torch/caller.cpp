#include "anabranch/backends/torch/caller.h"

#include <ATen/record_function.h>
#include <c10/core/AutogradState.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>

namespace anabranch::torch_backend {
namespace {

constexpr c10::DispatchKeySet kBelow =
    c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset;

/// Keys of a plain tensor or of a thread that nobody watches.
uint64_t plain_bits() {
  static const uint64_t bits =
      (kBelow | c10::DispatchKeySet({c10::DispatchKey::CPU, c10::DispatchKey::AutogradCPU,
                                     c10::DispatchKey::AutocastCPU, c10::DispatchKey::BackendSelect,
                                     c10::DispatchKey::Conjugate, c10::DispatchKey::Negative}))
          .raw_repr();
  return bits;
}

c10::DispatchKeySet watched_keys() {
  static const c10::DispatchKeySet keys = c10::DispatchKeySet(
      {c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot,
       c10::DispatchKey::PythonDispatcher, c10::DispatchKey::PreDispatch,
       c10::DispatchKey::Functionalize, c10::DispatchKey::Tracer,
       c10::DispatchKey::FuncTorchDynamicLayerFrontMode,
       c10::DispatchKey::FuncTorchDynamicLayerBackMode, c10::DispatchKey::FuncTorchVmapMode,
       c10::DispatchKey::FuncTorchGradWrapper, c10::DispatchKey::FuncTorchBatched,
       c10::DispatchKey::VmapMode, c10::DispatchKey::Batched});
  return keys;
}

}  // namespace

void CallerState::capture(bool whole) {
  keys_ = c10::impl::tls_local_dispatch_key_set();
  keys_.excluded_ = keys_.excluded_ | kBelow;
  const c10::AutogradState& autograd = c10::AutogradState::get_tls_state();
  grad_mode_ = autograd.get_grad_mode();
  inference_mode_ = autograd.get_inference_mode();
  fw_grad_mode_ = autograd.get_fw_grad_mode();
  threads_ = ThreadSetting::current();
  thread_ = std::this_thread::get_id();
  whole_for_all_ = c10::ThreadLocalDebugInfo::current() != nullptr;
  observed_ = at::hasCallbacks();
  if (whole || whole_for_all_) whole_.emplace();
}

ThreadSetting CallerState::threads(int threads) const {
  if (threads <= 0 || threads >= threads_.openmp) return threads_;
  return {threads, threads};
}

CallerScope::CallerScope(const CallerState& state, bool whole) {
  if (state.whole_ && (whole || state.whole_for_all_) && !state.on_caller_thread()) {
    whole_.emplace(*state.whole_);
  }
  c10::impl::_force_tls_local_dispatch_key_set(state.keys_);
  c10::AutogradState& autograd = c10::AutogradState::get_tls_state();
  grad_mode_ = autograd.get_grad_mode();
  inference_mode_ = autograd.get_inference_mode();
  fw_grad_mode_ = autograd.get_fw_grad_mode();
  autograd.set_grad_mode(state.grad_mode_);
  autograd.set_inference_mode(state.inference_mode_);
  autograd.set_fw_grad_mode(state.fw_grad_mode_);
}

CallerScope::~CallerScope() {
  c10::AutogradState& autograd = c10::AutogradState::get_tls_state();
  autograd.set_grad_mode(grad_mode_);
  autograd.set_inference_mode(inference_mode_);
  autograd.set_fw_grad_mode(fw_grad_mode_);
}

bool dispatch_is_watched() {
  return c10::impl::tls_local_dispatch_key_set().included_.has_any(watched_keys()) ||
         c10::impl::TorchDispatchModeTLS::any_modes_set();
}

bool is_plain(const at::Tensor& tensor) {
  return tensor.defined() && (tensor.key_set().raw_repr() & ~plain_bits()) == 0;
}

}  // namespace anabranch::torch_backend
