// What runs: a KernelSet turns the operators of a graph into kernels, once, at load. Load may
// allocate and fail; launching only launches.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "anabranch/ir/graph.h"
#include "anabranch/schedule/schedule.h"

namespace anabranch {

/// The values of one running call. Owned by a call context, used by one call at a time; different
/// slots may be used by different threads at once, ordered by the schedule's events.
class CallValues {
 public:
  virtual ~CallValues() = default;
  /// Sizes of this call: all names are there before the first launch. The value of a name that an
  /// operator defines is set by that operator; who uses it comes later by the schedule's events.
  SymbolTable symbols;
};

/// What a control operator throws when an operator of its body fails: the original exception, and
/// which operator of the body it was.
class BodyFailure : public std::exception {
 public:
  BodyFailure(std::exception_ptr failed, std::string place)
      : error(std::move(failed)), where(std::move(place)) {}
  const char* what() const noexcept override { return where.c_str(); }

  std::exception_ptr error;
  std::string where;  // "in operator mm (aten.mm.default), at model.py:12 in forward"
};

/// Launches operators of one call on one thread.
class Launcher {
 public:
  virtual ~Launcher() = default;
  /// Runs one operator with at most `threads` intra-op threads (0: the caller's number). Throws
  /// what the operator throws.
  virtual void launch(NodeId node, int threads) = 0;
  /// The same in `threads` parts of one thread each, if LoadedKernels::can_split.
  virtual void launch_split(NodeId node, int threads) { launch(node, threads); }
};

/// The kernels of one graph, resolved. Thread-safe: holds nothing that a call changes.
class LoadedKernels {
 public:
  virtual ~LoadedKernels() = default;
  virtual std::unique_ptr<CallValues> make_values() const = 0;

  /// Calls `walk` once with a launcher for the calling thread. What the kernels set up on a thread
  /// they set up here, once for all operators of a lane.
  using Walk = std::function<void(Launcher&)>;
  virtual void on_thread(CallValues& values, const Walk& walk) const = 0;

  /// True if Launch::split means something to the operator.
  virtual bool can_split(NodeId) const { return false; }

  /// The last user of a buffer has completed. Not called for buffers that need no release.
  virtual void release(BufferId buffer, CallValues& values) const noexcept = 0;
  virtual bool needs_release(BufferId) const { return true; }
  /// Drops everything that the call still holds, also after an error.
  virtual void clear(CallValues& values) const noexcept = 0;
  /// What the kernels keep beside the values of calls, as lines of a report.
  virtual std::string report() const { return ""; }
};

class KernelSet {
 public:
  virtual ~KernelSet() = default;
  /// By BufferId: true if the operator that makes the buffer can make it in memory that it is
  /// given, and no operator that uses it keeps hold of it beyond its own launch.
  virtual std::vector<bool> placeable(const Graph& graph) const {
    return std::vector<bool>(graph.buffer_count, false);
  }
  /// `layout` says which of those buffers lie where in the arena of each call. Throws Error
  /// ("unknown-operator", "bad-argument") that names the operator and its source line.
  virtual std::unique_ptr<LoadedKernels> load(const Graph& graph, const MemoryLayout& layout) = 0;
};

}  // namespace anabranch
