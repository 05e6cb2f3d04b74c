// Durations of operators that were measured, kept for other programs and other processes.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "anabranch/analysis/operator_times.h"
#include "anabranch/ir/graph.h"

namespace anabranch {

/// What two operators that take equally long have in common: the name, the literal arguments, and
/// the dtypes, sizes and strides of the operands.
std::string time_key(const Graph& graph, NodeId node);

/// Thread-safe. The file is one for a machine, a torch and a number of cores, which its user sees
/// to. It is text, a line for each key; whoever saves adds what others saved meanwhile and puts a
/// whole new file in its place, so a reader never sees half of one. A file that cannot be read or
/// written costs a measurement, never a call.
class TimeTable {
 public:
  /// The table of a file, one for the process; "" names one that has no file.
  static TimeTable& of(const std::string& path);

  std::optional<OperatorTime> find(const std::string& key) const;
  /// Adds the entries, in place of old ones, and writes the file.
  void add(const std::vector<std::pair<std::string, OperatorTime>>& entries);

 private:
  explicit TimeTable(std::string path);
  static void read(const std::string& path, std::map<std::string, OperatorTime>& into);
  void write() const;

  std::string path_;
  mutable std::mutex mutex_;
  std::map<std::string, OperatorTime> times_;
};

}  // namespace anabranch
