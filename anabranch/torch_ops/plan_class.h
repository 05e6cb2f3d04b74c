// torch.classes.anabranch.Plan: a compilation in two steps, between which somebody turns regions
// into kernels.
#pragma once

#include <torch/custom_class.h>

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "anabranch/torch_ops/draft.h"
#include "anabranch/torch_ops/program_class.h"

namespace anabranch::torch_ops {

/// Thread-safe.
class PlanClass : public torch::CustomClassHolder {
 public:
  /// As ProgramClass. `alone`, `with_others` and `by_itself` name the operators that regions may be
  /// made of (passes::Fusion). Throws Error with all findings.
  PlanClass(const std::string& graph_text, const std::string& options,
            std::vector<at::Tensor> constants, std::vector<std::string> alone,
            std::vector<std::string> with_others, std::vector<std::string> by_itself);

  /// JSON: [{"operators": [names of nodes], "inputs": [names of values], "outputs": […]}].
  std::string regions() const;
  /// Once. `graphs` are graph texts of steps, `of_region` says for each region which of them it
  /// runs, -1: its own operators. `library`: path of the kernels, may be empty. Throws Error.
  c10::intrusive_ptr<ProgramClass> finish(const std::vector<std::string>& graphs,
                                          const std::vector<int64_t>& of_region,
                                          const std::string& library);

 private:
  mutable std::mutex mutex_;
  std::optional<Draft> draft_;  // until finish()
};

}  // namespace anabranch::torch_ops
