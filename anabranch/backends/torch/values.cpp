#include "anabranch/backends/torch/values.h"

#include <ATen/ops/empty_strided.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/InferenceMode.h>

namespace anabranch::torch_backend {

TorchValues::TorchValues(const ValuePlan& plan, const Materializer& materializer, bool foreign)
    : plan_(plan), materializer_(materializer), foreign_(foreign), roots_(plan.roots().size()) {
  size_t constant = 0;
  for (size_t i = 0; i < roots_.size(); ++i) {
    if (plan.roots()[i].origin == ValuePlan::Origin::Constant)
      roots_[i] = plan.constants()[constant++];
  }
  place_results();
  make_windows();
}

void TorchValues::place_results() {
  if (plan_.arena_bytes() == 0) return;
  arena_ = c10::GetCPUAllocator()->allocate(static_cast<size_t>(plan_.arena_bytes()));
  for (size_t i = 0; i < roots_.size(); ++i) {
    const ValuePlan::Root& root = plan_.roots()[i];
    if (!root.placement) continue;
    void* memory = static_cast<char*>(arena_.get()) + root.placement->offset;
    roots_[i] = make_placed(memory, static_cast<size_t>(root.placement->size), root.geometry);
  }
}

void TorchValues::make_windows() {
  windows_.resize(plan_.graph().values.size());
  c10::InferenceMode ordinary(false);
  for (size_t i = 0; i < windows_.size(); ++i) {
    if (!plan_.graph().values[i].tensor()) continue;
    const ValuePlan::Place& place = plan_.place(ValueId(i));
    const ValuePlan::Root& root = plan_.roots()[place.root];
    bool known = root.placement || root.origin == ValuePlan::Origin::Constant;
    if (!place.window || !known || root.reshaped || !place.geometry.is_static()) continue;
    windows_[i] = make_window(roots_[place.root], root.geometry, place.geometry, {});
  }
}

at::Tensor TorchValues::tensor(ValueId value) const {
  if (watched_) return own_[value.index()];
  const ValuePlan::Place& place = plan_.place(value);
  const at::Tensor& root = roots_[place.root];
  if (!place.window) return root;
  if (windows_[value.index()].defined()) return windows_[value.index()];
  return make_window(root, plan_.roots()[place.root].geometry, place.geometry, symbols);
}

at::Tensor TorchValues::output(ValueId value) {
  if (watched_) {
    materializer_.materialize(value, *this);
    return own_[value.index()];
  }
  const ValuePlan::Place& place = plan_.place(value);
  const ValuePlan::Root& planned = plan_.roots()[place.root];
  const at::Tensor& root = roots_[place.root];
  if (place.same_object == planned.value) return root;
  // A view of an ordinary tensor is ordinary even in inference mode, and the other way round.
  c10::InferenceMode like_root(root.is_inference());
  at::Tensor view = make_window(root, planned.geometry, place.geometry, symbols);
  if (!root.is_inference()) {
    view.unsafeGetTensorImpl()->set_version_counter(root.unsafeGetTensorImpl()->version_counter());
  }
  return view;
}

at::Tensor TorchValues::destination(ValueId value) {
  const ValuePlan::Place& place = plan_.place(value);
  const ValuePlan::Root& root = plan_.roots()[place.root];
  if (root.placement) return roots_[place.root];
  Window scratch;
  const Window& window = root.geometry.window(symbols, scratch);
  at::Tensor fresh = at::empty_strided(window.sizes, window.strides, root.geometry.dtype());
  roots_[place.root] = fresh;
  return fresh;
}

void TorchValues::store(ValueId value, at::Tensor tensor) {
  if (watched_) {
    own_[value.index()] = std::move(tensor);
    return;
  }
  const ValuePlan::Place& place = plan_.place(value);
  const ValuePlan::Root& root = plan_.roots()[place.root];
  if (root.value != value) return;
  if (root.viewed) {
    Window scratch;
    if (!same_layout(root.geometry.window(symbols, scratch), tensor)) {
      tensor = conform(tensor, root.geometry, symbols);
    }
  }
  roots_[place.root] = std::move(tensor);
}

void TorchValues::release(BufferId buffer) noexcept {
  if (watched_) return;
  for (size_t root : plan_.roots_of(buffer)) {
    const ValuePlan::Root& planned = plan_.roots()[root];
    if (planned.origin == ValuePlan::Origin::Result && !planned.placement) roots_[root].reset();
  }
}

void TorchValues::clear() noexcept {
  for (size_t i = 0; i < roots_.size(); ++i) {
    const ValuePlan::Root& root = plan_.roots()[i];
    if (root.origin != ValuePlan::Origin::Constant && !root.placement) roots_[i].reset();
  }
  own_.clear();
  watched_ = false;
  caller_.clear();
}

void TorchValues::bump_versions() {
  for (size_t i = 0; i < roots_.size(); ++i) {
    bool changes = plan_.roots()[i].written && plan_.roots()[i].origin != ValuePlan::Origin::Result;
    if (changes && !roots_[i].is_inference()) roots_[i].unsafeGetTensorImpl()->bump_version();
  }
}

void TorchValues::watch() {
  watched_ = true;
  own_.resize(plan_.graph().values.size());
  for (size_t i = 0; i < roots_.size(); ++i) {
    bool given = plan_.roots()[i].origin != ValuePlan::Origin::Result;
    if (given && roots_[i].defined()) own_[plan_.roots()[i].value.index()] = roots_[i];
  }
}

}  // namespace anabranch::torch_backend
