// Who wrote and who read each byte of memory last, while a program is walked in order. Each buffer
// is cut into segments that have one last writer and one set of readers since.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "anabranch/ir/graph.h"
#include "anabranch/ir/uses.h"

namespace anabranch {

class MemoryHistory {
 public:
  /// Both must outlive the history, which is empty at first.
  MemoryHistory(const Graph& graph, const UseTable& uses);

  /// Appends the last writers of the bytes. May name one operator several times.
  void append_writers(BufferId buffer, ByteRange range, std::vector<NodeId>& writers) const;

  /// Appends the operators that `use` must come after, given that they keep their own order: the
  /// last writers of its bytes or, when it writes, also the readers since. May repeat operators.
  void append_conflicts(const Use& use, std::vector<NodeId>& operators) const;

  /// Walks over `node`: its uses become the latest. Nodes come in program order.
  void record(NodeId node);

 private:
  struct Segment {  // from its key to the next segment's key
    NodeId writer;  // invalid: nothing wrote it yet
    std::vector<NodeId> readers;
  };
  using Segments = std::map<int64_t, Segment>;

  static Segments::iterator split(Segments& segments, int64_t at);
  static Segments::const_iterator find(const Segments& segments, int64_t at);
  void record_write(NodeId node, const Use& use);
  void record_read(NodeId node, const Use& use);

  const UseTable& uses_;
  std::vector<Segments> buffers_;
  std::vector<size_t> writes_left_;  // by buffer: readers after the last write need no memory
};

}  // namespace anabranch
