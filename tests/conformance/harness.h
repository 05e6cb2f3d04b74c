// A graph and a schedule in text form, run with the reference kernels on some device.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "anabranch/backends/cpu/reference_kernels.h"
#include "anabranch/ir/graph.h"
#include "anabranch/runtime/executor.h"

namespace anabranch::testing {

using Elements = std::vector<int64_t>;
using Named = std::map<std::string, Elements>;

/// What a call left behind.
struct Outcome {
  Named values;  // inputs and those asked for
  std::vector<std::string> log;
  std::vector<std::string> violations;
  std::vector<int> releases;  // by BufferId
  std::string error;          // message of the failure; "" if there was none
  std::string failed;         // name of the failed operator
};

/// The message of an exception.
std::string message_of(const std::exception_ptr& error);

class Harness {
 public:
  /// `graph` without its first line and braces: `%x = input : i64[2] @b0 … return %y`.
  Harness(std::shared_ptr<Device> device, std::string_view graph, std::string_view schedule,
          ReferenceKernels kernels = {});

  /// One context for many calls, one at a time.
  class Session {
   public:
    explicit Session(const Harness& harness);
    /// Sets the inputs, runs, and reads the values that the graph returns.
    Outcome run(const Named& inputs, Observer* observer = nullptr);
    const CallState& state() const { return *state_; }

   private:
    const Harness& harness_;
    std::unique_ptr<CallState> state_;
    std::unique_ptr<CallValues> values_;
  };

  /// One call in a context of its own. Thread-safe.
  Outcome run(const Named& inputs = {}, Observer* observer = nullptr) const {
    return Session(*this).run(inputs, observer);
  }

  const Graph& graph() const { return graph_; }
  const Schedule& schedule() const { return schedule_; }
  const Executor& executor() const { return *executor_; }

 private:
  std::shared_ptr<Device> device_;
  Graph graph_;
  Schedule schedule_;
  std::unique_ptr<LoadedKernels> kernels_;
  std::unique_ptr<Executor> executor_;
};

/// `anabranch 1 graph "test" { body }`.
Graph graph_of(std::string_view body);

}  // namespace anabranch::testing
