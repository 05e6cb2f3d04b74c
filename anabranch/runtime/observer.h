// Sees a call as it runs: recorded times, adversarial delays, tests. Callbacks come from the thread
// that walks the stream, must be thread-safe across streams and must not throw.
#pragma once

#include "anabranch/schedule/schedule.h"

namespace anabranch {

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void before_launch(StreamId, const Launch&) {}
  virtual void after_launch(StreamId, const Launch&) {}
  virtual void before_record(StreamId, EventId) {}
  virtual void after_record(StreamId, EventId) {}
  virtual void before_wait(StreamId, EventId) {}
  virtual void after_wait(StreamId, EventId) {}
};

}  // namespace anabranch
