// A captured graph with its options, compiled as far as its regions.
#pragma once

#include <ATen/core/TensorBody.h>

#include <memory>
#include <string>
#include <vector>

#include "anabranch/backends/cpu/cpu_device.h"
#include "anabranch/backends/torch/kernels.h"
#include "anabranch/passes/pipeline.h"
#include "anabranch/program/program.h"

namespace anabranch::torch_ops {

/// What Python hands over, kept so that the program can be compiled again without regions.
struct Captured {
  std::string graph_text;
  std::string options;  // JSON, see ProgramClass
  std::vector<at::Tensor> constants;
};

/// The operators that regions may be made of, by name: see passes::Fusion.
struct FusibleNames {
  std::vector<std::string> alone, with_others, by_itself;
};

struct Draft {
  Captured captured;
  std::shared_ptr<CpuDevice> device;
  std::unique_ptr<torch_backend::AtenKernels> kernels;  // the plan refers to them
  Tuning tuning;
  passes::Plan plan;
};

/// Throws Error with all findings.
Draft make_draft(Captured captured, const FusibleNames& fusible);

}  // namespace anabranch::torch_ops
