// What of the calling thread's state must hold on the thread that runs an operator.
#pragma once

#include <ATen/ThreadLocalState.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <optional>
#include <thread>

#include "anabranch/backends/torch/thread_count.h"

namespace anabranch::torch_backend {

/// State of the calling thread, taken at the start of a call. Read by all its workers.
class CallerState {
 public:
  /// `whole` keeps all of torch's thread-local state too, for operators implemented in Python
  /// (modes, hooks). It is kept anyway while a profiler watches the caller.
  void capture(bool whole);
  void clear() { whole_.reset(); }

  /// The setting for an operator that may use `threads` threads (0: the caller's number). Never
  /// more than the caller's own number.
  ThreadSetting threads(int threads) const;
  bool on_caller_thread() const { return thread_ == std::this_thread::get_id(); }
  /// Somebody (a profiler) wants to be told of operators, which only the dispatcher does.
  bool observed() const { return observed_; }

 private:
  friend class CallerScope;
  c10::impl::LocalDispatchKeySet keys_ = c10::impl::tls_local_dispatch_key_set();
  bool grad_mode_ = false, inference_mode_ = false, fw_grad_mode_ = false;
  bool whole_for_all_ = false, observed_ = false;
  ThreadSetting threads_;
  std::thread::id thread_;
  std::optional<at::ThreadLocalState> whole_;
};

/// Makes the caller's state hold on this thread, below autograd, version counting and autocast (all
/// of which capture has already applied), until the end of the scope.
class CallerScope {
 public:
  /// `whole`: the operator needs everything that CallerState::capture(true) kept.
  CallerScope(const CallerState& state, bool whole);
  ~CallerScope();
  CallerScope(const CallerScope&) = delete;
  CallerScope& operator=(const CallerScope&) = delete;

 private:
  std::optional<at::ThreadLocalStateGuard> whole_;
  c10::impl::ForceDispatchKeyGuard keys_;
  bool grad_mode_, inference_mode_, fw_grad_mode_;
};

/// True if something on this thread wants to see every operator (a dispatch mode, a function
/// transform, a tracer): then operators must go through the whole dispatcher, here.
bool dispatch_is_watched();

/// True if a kernel of the dense CPU backend may be given the tensor directly: not a subclass with
/// its own dispatch, not sparse, quantised, wrapped or on another device.
bool is_plain(const at::Tensor& tensor);

}  // namespace anabranch::torch_backend
