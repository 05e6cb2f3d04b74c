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
  make_stand_ins();
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

void TorchValues::make_stand_ins() {
  for (const ValuePlan::StandIn& stand_in : plan_.stand_ins()) {
    auto bytes = static_cast<size_t>(stand_in.reach.end);
    stand_ins_.push_back(make_placed(nullptr, bytes, plan_.roots()[stand_in.root].geometry));
  }
}

void TorchValues::make_windows() {
  fixed_.resize(plan_.graph().values.size());
  std::vector<at::Tensor> bases(roots_.size());  // by root: what is the same in every call
  for (size_t i = 0; i < roots_.size(); ++i) {
    const ValuePlan::Root& root = plan_.roots()[i];
    bool known = root.placement || root.origin == ValuePlan::Origin::Constant;
    if (known && !root.reshaped) bases[i] = roots_[i];
  }
  for (size_t i = 0; i < stand_ins_.size(); ++i) bases[plan_.stand_ins()[i].root] = stand_ins_[i];
  c10::InferenceMode ordinary(false);
  for (size_t i = 0; i < fixed_.size(); ++i) {
    if (!plan_.graph().values[i].tensor()) continue;
    const ValuePlan::Place& place = plan_.place(ValueId(i));
    const at::Tensor& base = bases[place.root];
    if (!base.defined() || !place.geometry.is_static()) continue;
    fixed_[i] = place.window
                    ? make_window(base, plan_.roots()[place.root].geometry, place.geometry, {})
                    : base;
  }
}

void TorchValues::bind_stand_ins() {
  for (size_t i = 0; i < stand_ins_.size(); ++i) {
    const ValuePlan::StandIn& stand_in = plan_.stand_ins()[i];
    const ValuePlan::Root& root = plan_.roots()[stand_in.root];
    point_at(stand_ins_[i], roots_[stand_in.root], root.geometry, stand_in.reach,
             stand_in.alignment, root.written);
  }
}

at::Tensor TorchValues::tensor(ValueId value) const {
  if (watched_) return own_[value.index()];
  const at::Tensor& fixed = fixed_[value.index()];
  if (fixed.defined()) return fixed;
  const ValuePlan::Place& place = plan_.place(value);
  const at::Tensor& root = roots_[place.root];
  if (!place.window) return root;
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
  if (is_borrowed(tensor)) tensor = tensor.clone();  // an operator that returns its operand
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
  for (const at::Tensor& stand_in : stand_ins_) forget_memory(stand_in);
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
