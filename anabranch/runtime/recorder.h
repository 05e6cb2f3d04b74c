// Records when each command of a call ran.
#pragma once

#include <cstdint>
#include <vector>

#include "anabranch/runtime/observer.h"

namespace anabranch {

/// Nanoseconds of the steady clock.
int64_t now_ns();

/// Observes one call at a time; after the call its thread may read. Each stream writes only its own
/// lists, which are reserved at construction, so recording takes no lock and does not allocate.
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

  explicit Recorder(const Schedule& schedule);

  /// Forgets everything, for the next call.
  void clear();
  /// By StreamId.
  const std::vector<StreamTimes>& streams() const { return streams_; }

  void before_launch(StreamId stream, const Launch& launch) override;
  void after_launch(StreamId stream, const Launch& launch) override;
  void before_record(StreamId stream, EventId event) override;
  void before_wait(StreamId stream, EventId event) override;
  void after_wait(StreamId stream, EventId event) override;

 private:
  std::vector<StreamTimes> streams_;
};

}  // namespace anabranch
