// The C++ user's door: a graph in, a program that can be called from many threads out.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "anabranch/passes/pipeline.h"
#include "anabranch/program/tuner.h"
#include "anabranch/runtime/device.h"
#include "anabranch/runtime/executor.h"
#include "anabranch/runtime/idle_pool.h"
#include "anabranch/runtime/kernel.h"
#include "anabranch/runtime/observer.h"

namespace anabranch {

/// A failed operator as the caller sees it: `failure` holds the original exception, context() says
/// `in operator mm_1 (aten.mm.default), stream "1", at model.py:12 in forward`, and what() is the
/// original message with the context in parentheses.
class OperatorError : public std::runtime_error {
 public:
  OperatorError(LaunchFailure failure, std::string context);
  const LaunchFailure& failure() const { return failure_; }
  const std::string& context() const { return context_; }

 private:
  LaunchFailure failure_;
  std::string context_;
};

/// Whether the first calls find out how the program runs fastest (tuner.h).
struct Tuning {
  bool on = false;
  std::string time_file;  // where durations of operators are kept; "": in the process
};

/// The options, with what the kernels say of memory and what was measured of operators before.
/// `kernels` must stay until the graph is compiled.
passes::PipelineOptions known_options(const Graph& graph, passes::PipelineOptions options,
                                      const KernelSet& kernels, const Tuning& tuning);

/// Thread-safe after construction.
class Program {
 public:
  /// Compiles (and, with options.verify, proves the schedule), then loads kernels and assigns
  /// lanes. `kernels` may go afterwards. Nothing is tuned without options.fold, in a graph that may
  /// not be placed on cores (passes/place_on_cores.h), or where there is nothing to choose. Throws
  /// Error.
  Program(Graph captured, const passes::PipelineOptions& options, KernelSet& kernels,
          std::shared_ptr<Device> device, const Tuning& tuning = {});
  /// The same in two steps: `compiled` is what passes::finish made of a plan with known_options().
  Program(passes::Compiled compiled, const passes::PipelineOptions& options, KernelSet& kernels,
          std::shared_ptr<Device> device, const Tuning& tuning);
  ~Program();

  /// One call. `bind` fills the inputs into the call's values (and its symbols) before the first
  /// launch; `collect` takes the outputs out after the last. Either may be empty. On an error of an
  /// operator throws OperatorError after every stream has drained; the next call works. What `bind`
  /// and `collect` throw goes through. A call that cannot have its lanes, because another call has
  /// one of them or because it is made from inside another one, does what run_serial does: it never
  /// waits for another call. `observer` is told which schedule runs.
  using Exchange = std::function<void(CallValues&)>;
  void run(const Exchange& bind, const Exchange& collect, Observer* observer = nullptr);

  /// The same on one stream in program order, on the calling thread (overlapping inputs, active
  /// dispatch modes).
  void run_serial(const Exchange& bind, const Exchange& collect, Observer* observer = nullptr);

  /// The same with every stream on the lane that it would have without folding, so that what the
  /// events do not order can really run in any order (adversarial runs). Made at the first use.
  void run_unfolded(const Exchange& bind, const Exchange& collect, Observer* observer = nullptr);

  const passes::Compiled& compiled() const { return compiled_; }
  /// Streams, events placed and found redundant, lanes: what the DEBUG log shows.
  std::string report() const;
  /// True while calls are measured.
  bool tuning() const { return tuner_ && !tuner_->finished(); }
  /// What tuning decided; nothing before, or without it.
  std::optional<Diagnostic> tuned() const;

 private:
  struct Context;  // what one running call owns
  struct Lease;    // a context for as long as the call runs
  enum class Streams { Folded, Unfolded, One };
  void call(Streams streams, const Exchange& bind, const Exchange& collect, Observer* observer);
  void measure(Tuner::Turn turn, const Exchange& bind, const Exchange& collect);
  void finish(CallResult& result, CallValues& values, const Exchange& collect) const;
  void make_tuner(const passes::PipelineOptions& options, const Tuning& tuning);
  std::unique_ptr<Context> take_context();
  std::string describe_failure(const LaunchFailure& failure) const;

  passes::Compiled compiled_;
  std::shared_ptr<Device> device_;
  std::unique_ptr<LoadedKernels> kernels_;
  std::unique_ptr<Executor> parallel_, serial_;
  IdlePool<Context> idle_;
  std::once_flag unfolded_made_;
  std::unique_ptr<Executor> unfolded_;
  std::unique_ptr<Tuner> tuner_;
};

}  // namespace anabranch
