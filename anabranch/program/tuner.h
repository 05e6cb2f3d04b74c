// Finds out by measurement, during a program's first calls, how it runs fastest.
//
// First each operator is timed, where its duration is not known from earlier (time_table.h): calls
// on one stream with all cores, with one thread, and with operators in parts where they can be.
// From these times come plans (passes/place_on_cores.h). Then whole calls are timed, in turns: on
// one stream, on the user's streams, and by the best plans. The fastest stays; one stream has the
// advantage of a tie. All results are right from the first call on: only the time differs.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "anabranch/base/diagnostic.h"
#include "anabranch/passes/place_on_cores.h"
#include "anabranch/program/time_table.h"
#include "anabranch/runtime/executor.h"
#include "anabranch/runtime/recorder.h"

namespace anabranch {

struct TunerOptions {
  int cores = 1;
  std::vector<int> caps;     // as in passes::share_cores
  bool verify = true;        // every schedule, before its first run
  std::string time_file;     // of the TimeTable; "": none
  bool user_streams = true;  // the program has a schedule on streams worth comparing with
};

/// Thread-safe. One call at a time is measured; others run as if there were no tuner.
class Tuner {
 public:
  /// References must outlive the tuner. `streams` is the program's own executor, of `logical`;
  /// `serial` is its one-stream schedule.
  Tuner(const Graph& graph, const Schedule& logical, const Schedule& serial,
        const Executor& streams, Device& device, const LoadedKernels& kernels,
        TunerOptions options);
  ~Tuner();

  /// A call that is measured: run `executor` with the rest, then say done(). Without that the turn
  /// is given back and counts for nothing.
  class Turn {
   public:
    Turn(Tuner& tuner, const Executor& how, CallState& with, Observer* seen_by)
        : executor(how), state(with), observer(seen_by), tuner_(&tuner) {}
    Turn(Turn&& other) noexcept
        : executor(other.executor),
          state(other.state),
          observer(other.observer),
          tuner_(std::exchange(other.tuner_, nullptr)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (tuner_) tuner_->busy_.store(false, std::memory_order_release);
    }
    void done(int64_t nanoseconds) { tuner_->take(nanoseconds); }

    const Executor& executor;
    CallState& state;
    Observer* observer;

   private:
    Tuner* tuner_;
  };
  /// Nothing when another call is being measured, or none is to be any more.
  std::optional<Turn> begin();

  bool finished() const { return finished_.load(std::memory_order_acquire); }
  /// After finished(): what to run, or null for the program's own streams.
  const Executor* chosen() const { return chosen_; }
  /// After finished(): what was measured and decided.
  const Diagnostic& decision() const { return decision_; }
  /// After finished(): the decision, and what of each label runs where if that is not its stream.
  std::string placement() const;

 private:
  /// What a call measures: each operator in one of three ways, or the whole call.
  enum class What : uint8_t { All, One, Split, Whole };
  struct Step;
  struct Candidate;

  void take(int64_t nanoseconds);
  void advance(int64_t nanoseconds);
  bool find_known_times();
  void plan_measurements();
  void collect(What what);
  void keep_times();
  void plan_trials();
  Candidate& add_candidate(std::string name, passes::CorePlan plan);
  void decide();
  std::string why_one_stream() const;

  const Graph& graph_;
  const Schedule& logical_;
  const Schedule& serial_;
  const Executor& streams_;
  Device& device_;
  const LoadedKernels& kernels_;
  const TunerOptions options_;
  std::atomic<bool> busy_{false};  // guards what follows
  Recorder recorder_;
  OperatorTimes times_;
  std::vector<std::unique_ptr<Candidate>> candidates_;  // or, before, the ways to measure
  std::vector<Step> steps_;
  size_t next_ = 0;
  bool measured_ = false;
  const Executor* chosen_ = nullptr;
  const Candidate* winner_ = nullptr;
  Diagnostic decision_;
  std::atomic<bool> finished_{false};
};

}  // namespace anabranch
