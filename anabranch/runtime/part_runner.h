// Runs the parts of one operator side by side.
#pragma once

#include <functional>

namespace anabranch {

/// Does part `part` of an operator. Must not throw.
using PartTask = std::function<void(int part)>;

/// Thread-safe.
class PartRunner {
 public:
  virtual ~PartRunner() = default;
  /// Does parts 0 to `parts` - 1, part 0 on the calling thread, and returns when all are done.
  /// Never waits for another caller: parts for which there is no thread are done by this one.
  virtual void run(int parts, const PartTask& task) = 0;
};

}  // namespace anabranch
