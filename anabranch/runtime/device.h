// What a device gives the executor: lanes that walk command lists, events, and memory. A device
// knows nothing of operators; kernels (runtime/kernel.h) know nothing of streams.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "anabranch/schedule/schedule.h"

namespace anabranch {

/// The events of one running call. Thread-safe; reused for the next call after reset().
class CallEvents {
 public:
  virtual ~CallEvents() = default;
  /// Marks `event` as recorded on `stream`; every earlier launch of the stream is complete or
  /// queued.
  virtual void record(StreamId stream, EventId event) = 0;
  /// Holds `stream` until `event` is recorded.
  virtual void wait(StreamId stream, EventId event) = 0;
  /// True if a wait would not hold its stream now.
  virtual bool recorded(EventId event) = 0;
  /// Before the next call: no event is recorded. Nothing of the last call may still run.
  virtual void reset() = 0;
};

/// Walks the lane at one position of the list given to Device::try_run.
using LaneTask = std::function<void(size_t position)>;

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;

  /// Load: chooses for each stream of a schedule the lane (host worker) that walks its list.
  /// Stream 0 gets lane 0, the calling thread. Streams may share a lane.
  virtual std::vector<size_t> assign_lanes(std::span<const StreamProgram> streams) = 0;
  virtual std::unique_ptr<CallEvents> make_events(const Schedule& schedule) = 0;

  /// Runs `task(i)` on lane `lanes[i]` for each i and returns true when all have ended. `lanes` are
  /// distinct, lane 0 first. A call has all its lanes or none: false, with nothing begun, when
  /// another call has one of them, or when there are several on a thread that is inside a call. So
  /// no call waits for another one, which may be waiting for it. Lane 0 alone always runs. `task`
  /// must not throw. Throws only before any task began.
  virtual bool try_run(std::span<const size_t> lanes, const LaneTask& task) = 0;

  /// True on a thread that is inside try_run().
  virtual bool inside_call() const = 0;
  virtual int cores() const = 0;

  virtual void* allocate(size_t bytes) = 0;  // aligned to 64 bytes; throws std::bad_alloc
  virtual void deallocate(void* memory) noexcept = 0;
};

}  // namespace anabranch
