// Sees a call as it runs: recorded times, adversarial delays, tests. Callbacks come from the thread
// that walks the stream, must be thread-safe across streams and must not throw.
#pragma once

#include <vector>

#include "anabranch/schedule/schedule.h"

namespace anabranch {

/// `before_launch` and `after_launch` come in pairs around every operator that starts, also around
/// one that fails; operators that an earlier failure keeps from starting are not seen.
class Observer {
 public:
  virtual ~Observer() = default;
  /// On the calling thread, before a call tries to run this schedule. A call that cannot have its
  /// lanes tries its one-stream schedule next: the last one counts.
  virtual void before_call(const Schedule&) {}
  virtual void before_launch(StreamId, const Launch&) {}
  virtual void after_launch(StreamId, const Launch&) {}
  virtual void before_record(StreamId, EventId) {}
  virtual void after_record(StreamId, EventId) {}
  virtual void before_wait(StreamId, EventId) {}
  virtual void after_wait(StreamId, EventId) {}
};

/// Several observers as one: `before` callbacks in the order given, `after` callbacks in reverse,
/// so that the last one is closest to the kernel. The observers must outlive the list.
class ObserverList : public Observer {
 public:
  explicit ObserverList(std::vector<Observer*> observers) : observers_(std::move(observers)) {}

  void before_call(const Schedule& schedule) override;
  void before_launch(StreamId stream, const Launch& launch) override;
  void after_launch(StreamId stream, const Launch& launch) override;
  void before_record(StreamId stream, EventId event) override;
  void after_record(StreamId stream, EventId event) override;
  void before_wait(StreamId stream, EventId event) override;
  void after_wait(StreamId stream, EventId event) override;

 private:
  std::vector<Observer*> observers_;
};

}  // namespace anabranch
