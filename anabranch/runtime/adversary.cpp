#include "anabranch/runtime/adversary.h"

#include <chrono>
#include <thread>

namespace anabranch {
namespace {

/// The finalizer of SplitMix64 (Steele, Lea and Flood, 2014).
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

void pause(int64_t us) {
  if (us > 0) std::this_thread::sleep_for(std::chrono::microseconds(us));
}

constexpr uint64_t kEvents = uint64_t{1} << 32;  // events are numbered apart from operators

}  // namespace

int64_t Adversary::delay_us(StreamId stream, uint64_t what) const {
  uint64_t random = mix(mix(mix(seed_) ^ stream.index()) ^ what);
  if (random % 3 == 0) return 0;
  // The cube makes most delays short and a few long: long ones alone would only slow the run.
  double fraction = static_cast<double>(random >> 11) / 9007199254740992.0;
  return static_cast<int64_t>(fraction * fraction * fraction * static_cast<double>(longest_us_));
}

void Adversary::before_launch(StreamId stream, const Launch& launch) {
  pause(delay_us(stream, launch.node.index()));
}

void Adversary::before_record(StreamId stream, EventId event) {
  pause(delay_us(stream, kEvents + event.index()));
}

}  // namespace anabranch
