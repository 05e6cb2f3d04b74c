// Records when each command of a call ran.
#pragma once

#include <cstdint>
#include <vector>

#include "anabranch/runtime/observer.h"

namespace anabranch {

/// Nanoseconds of the steady clock.
int64_t now_ns();

/// Observes one call at a time; after the call its thread may read. Each stream writes only its own
/// lists, which are reserved before the call, so recording takes no lock and does not allocate.
class Recorder : public Observer {
 public:
  struct Span {
    Launch launch;
    int64_t begin = 0, end = 0;
  };
  struct Recorded {
    EventId event;
    int64_t at = 0;  // just before, so that no waiter seems to go on earlier
  };
  struct Waited {
    EventId event;
    int64_t begin = 0, end = 0;  // reached the wait, went on
  };
  /// In the order in which the stream's commands ran.
  struct alignas(64) StreamTimes {
    std::vector<Span> launches;
    std::vector<Recorded> records;
    std::vector<Waited> waits;
  };

  /// The schedule of the last call; null before the first.
  const Schedule* schedule() const { return schedule_; }
  /// What the last call did, by StreamId.
  const std::vector<StreamTimes>& streams() const { return streams_; }

  void before_call(const Schedule& schedule) override;
  void before_launch(StreamId stream, const Launch& launch) override;
  void after_launch(StreamId stream, const Launch& launch) override;
  void before_record(StreamId stream, EventId event) override;
  void before_wait(StreamId stream, EventId event) override;
  void after_wait(StreamId stream, EventId event) override;

 private:
  const Schedule* schedule_ = nullptr;
  std::vector<StreamTimes> streams_;
};

}  // namespace anabranch
