// Tries to break a schedule: random delays before every launch and every record, so that whatever
// the events do not order really happens in another order.
#pragma once

#include <cstdint>

#include "anabranch/runtime/observer.h"

namespace anabranch {

/// The delay of each command depends only on the seed, the stream and the operator or event, so a
/// seed that shows a bug shows it again. Thread-safe: holds no state.
class Adversary : public Observer {
 public:
  /// Delays are 0 for a third of the commands and otherwise up to `longest_us`.
  explicit Adversary(uint64_t seed, int64_t longest_us = 2000)
      : seed_(seed), longest_us_(longest_us) {}

  void before_launch(StreamId stream, const Launch& launch) override;
  void before_record(StreamId stream, EventId event) override;

  /// Microseconds before the command; `what` is an operator's or an event's number.
  int64_t delay_us(StreamId stream, uint64_t what) const;

 private:
  uint64_t seed_;
  int64_t longest_us_;
};

}  // namespace anabranch
