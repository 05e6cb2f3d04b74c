// Kernels that do nothing, so that what is left of a call is our own work.
#pragma once

#include <memory>

#include "anabranch/runtime/kernel.h"

namespace anabranch::benchmarks {

class EmptyKernels : public KernelSet {
 public:
  std::unique_ptr<LoadedKernels> load(const Graph&, const MemoryLayout&) override {
    return std::make_unique<Loaded>();
  }

 private:
  class Nothing : public Launcher {
   public:
    void launch(NodeId, int) override {}
  };
  class Loaded : public LoadedKernels {
   public:
    std::unique_ptr<CallValues> make_values() const override {
      return std::make_unique<CallValues>();
    }
    void on_thread(CallValues&, const Walk& walk) const override {
      Nothing launcher;
      walk(launcher);
    }
    void release(BufferId, CallValues&) const noexcept override {}
    void clear(CallValues&) const noexcept override {}
  };
};

}  // namespace anabranch::benchmarks
