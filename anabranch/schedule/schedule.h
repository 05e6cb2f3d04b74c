// The result of compilation as plain data: per stream one flat list of commands, and for each
// buffer from when to when it lives.
//
// The contract every device keeps (docs/stream-model.md):
//   * the commands of one stream take effect in list order;
//   * `record e` completes when every earlier launch of its stream has completed;
//   * `wait e` holds its stream until e has been recorded in this call;
//   * a call ends when every stream has reached the end of its list.
// Events order logical streams. That two streams may share a worker is never relied on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "anabranch/base/ids.h"
#include "anabranch/ir/graph.h"

namespace anabranch {

struct Launch {
  NodeId node;
  int threads = 0;         // intra-op threads; 0: as many as the caller uses
  bool exclusive = false;  // takes all cores while it runs: its bits depend on the thread count
  bool split = false;      // cut into parts of one thread each, if its kernel can be
  bool operator==(const Launch&) const = default;
};
struct Record {
  EventId event;
  bool operator==(const Record&) const = default;
};
struct Wait {
  EventId event;
  bool operator==(const Wait&) const = default;
};
using Command = std::variant<Launch, Record, Wait>;

struct StreamProgram {
  Stream stream;  // label, priority
  std::vector<Command> commands;
  // A hint for devices with lanes: walk it on lane 0, since a lane of its own would not pay. Order
  // never relies on it.
  bool folded = false;
  bool operator==(const StreamProgram&) const = default;
};

/// Bytes [offset, offset + size) of a call's arena.
struct Placement {
  int64_t offset = 0;
  int64_t size = 0;
  bool operator==(const Placement&) const = default;
};

/// The life of an intermediate buffer: `acquire` makes it, and when all of `releases` (its last
/// uses, pairwise unordered) have completed nothing of the call touches it any more. Buffers of
/// inputs, constants and outputs outlive the call and have no entry.
struct BufferLife {
  BufferId buffer;
  NodeId acquire;
  std::vector<NodeId> releases;
  std::optional<Placement> placement;  // empty: memory of its own
  bool operator==(const BufferLife&) const = default;
};

/// The streams of a schedule are lanes of a machine: each owns `each` of the `cores`. A launch with
/// 1 to `each` threads holds its own lane while it runs, any other launch of an operator holds all.
struct Lanes {
  int cores = 0;  // 0: no lanes, the streams are those of the labels
  int each = 0;
  bool operator==(const Lanes&) const = default;
};

struct Schedule {
  std::vector<StreamProgram> streams;  // by StreamId; 0 is the default stream
  Lanes lanes;
  size_t event_count = 0;
  std::vector<BufferLife> buffers;

  bool operator==(const Schedule&) const = default;
};

/// Where buffers lie in a call's arena.
struct MemoryLayout {
  int64_t arena_bytes = 0;
  std::vector<std::optional<Placement>> placements;  // by BufferId; may be shorter than the graph's

  const std::optional<Placement>& of(BufferId buffer) const;
};
MemoryLayout memory_layout(const Schedule& schedule);

}  // namespace anabranch
