// torch.classes.anabranch.Program: graph text and constants in, a thread-safe callable out.
#pragma once

#include <torch/custom_class.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "anabranch/backends/torch/exchange.h"
#include "anabranch/backends/torch/kernels.h"
#include "anabranch/program/program.h"
#include "anabranch/torch_ops/draft.h"

namespace anabranch::torch_ops {

/// Every method may be called from many threads at once. Neither construction nor a call holds the
/// GIL (torch::class_ releases it).
class ProgramClass : public torch::CustomClassHolder {
 public:
  /// Options (a JSON object): name, single_stream, multi_stream, threads, verify, launch_order,
  /// aicore_num, auto_streams, fold, costs (path of a trace), max_workers, pin, small_memory, tune
  /// ("off", or first calls are measured), time_file (where durations of operators are kept).
  /// Throws Error with all findings.
  ProgramClass(const std::string& graph_text, const std::string& options,
               std::vector<at::Tensor> constants);
  ~ProgramClass() override;

  /// The second half of a compilation with regions; `library` is the path of their kernels.
  ProgramClass(Draft draft, passes::RegionSteps steps, const std::string& library);

  /// One call. Throws what the failing operator throws, with its place added (errors.h).
  torch_backend::CallOutputs run(std::vector<at::Tensor> tensors, std::vector<int64_t> integers);

  /// "original" or "optimized" as "pbtxt" or "txt".
  std::string dump(const std::string& which, const std::string& kind) const;
  /// "original", "optimized": the graph; "launched": the same with the steps of regions;
  /// "schedule", "serial": the command lists, of what is launched.
  std::string text(const std::string& which) const;
  std::string report() const { return program_->report(); }
  /// True while calls are measured; what that decides is the last of the diagnostics.
  bool tuning() const { return program_->tuning(); }
  /// Warnings and notes of compilation, then what calls so far had to say, each once.
  std::vector<std::string> diagnostics() const;

 private:
  const Graph& graph(const std::string& which) const;
  enum class Streams { One, Folded, All };
  void call(torch_backend::CallInputs& inputs, torch_backend::CallOutputs& outputs, Streams streams,
            Observer* observer);
  void note(std::once_flag& once, Diagnostic diagnostic);
  /// The same program without regions, made at the first use.
  ProgramClass& unfused();

  std::shared_ptr<const torch_backend::ValuePlan> plan_;
  std::unique_ptr<Program> program_;
  std::optional<Captured> captured_;  // of a program with regions
  std::once_flag unfused_made_;
  c10::intrusive_ptr<ProgramClass> unfused_;
  std::atomic<int> calls_{0};
  std::once_flag overlap_noted_, watch_noted_;
  mutable std::mutex notes_mutex_;
  std::vector<std::string> notes_;
};

}  // namespace anabranch::torch_ops
