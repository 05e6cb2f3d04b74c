// The C++ user's door: text in, a program that can be called from many threads out.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "anabranch/passes/pipeline.h"
#include "anabranch/runtime/device.h"
#include "anabranch/runtime/executor.h"
#include "anabranch/runtime/kernel.h"
#include "anabranch/runtime/observer.h"

namespace anabranch {

/// A failed operator as the caller sees it: `failure` holds the original exception, what() and
/// context() say which operator, on which stream, from which source line.
class OperatorError : public std::runtime_error {
 public:
  OperatorError(LaunchFailure failure, std::string context);
  const LaunchFailure& failure() const { return failure_; }
  const std::string& context() const { return context_; }

 private:
  LaunchFailure failure_;
  std::string context_;
};

class Program {
 public:
  /// Compiles and loads. Throws Error.
  Program(Graph captured, const passes::PipelineOptions& options, KernelSet& kernels,
          std::shared_ptr<Device> device);
  ~Program();

  /// One call. `bind` fills the inputs into the call's values (and its symbols) before the first
  /// launch; `collect` takes the outputs out after the last. Thread-safe. On an error of an operator
  /// throws OperatorError after every stream has drained; the next call works.
  using Exchange = std::function<void(CallValues&)>;
  void run(const Exchange& bind, const Exchange& collect, Observer* observer = nullptr);

  /// The same on one stream in program order, on the calling thread (overlapping inputs, nested
  /// calls, active dispatch modes).
  void run_serial(const Exchange& bind, const Exchange& collect, Observer* observer = nullptr);

  const passes::Compiled& compiled() const { return compiled_; }
  /// Streams, events placed and found redundant, lanes: what the DEBUG log shows.
  std::string report() const;

 private:
  struct Context;  // state, values: one per call that runs at the same time
  void run_on(const Executor& executor, const Exchange& bind, const Exchange& collect,
              Observer* observer, bool serial);
  std::unique_ptr<Context> take_context(bool serial);
  void give_context(std::unique_ptr<Context> context, bool serial);

  passes::Compiled compiled_;
  std::shared_ptr<Device> device_;
  std::unique_ptr<LoadedKernels> kernels_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Executor> serial_executor_;
  std::mutex pool_mutex_;
  std::vector<std::unique_ptr<Context>> pool_, serial_pool_;
};

}  // namespace anabranch
