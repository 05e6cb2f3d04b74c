#include "anabranch/runtime/recorder.h"

#include <algorithm>
#include <chrono>

namespace anabranch {

int64_t now_ns() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

void Recorder::before_call(const Schedule& schedule) {
  schedule_ = &schedule;
  streams_.assign(schedule.streams.size(), {});
  for (size_t s = 0; s < streams_.size(); ++s) {
    const auto& commands = schedule.streams[s].commands;
    auto count = [&](auto is) {
      return static_cast<size_t>(std::count_if(commands.begin(), commands.end(), is));
    };
    streams_[s].launches.reserve(
        count([](const Command& c) { return std::holds_alternative<Launch>(c); }));
    streams_[s].records.reserve(
        count([](const Command& c) { return std::holds_alternative<Record>(c); }));
    streams_[s].waits.reserve(
        count([](const Command& c) { return std::holds_alternative<Wait>(c); }));
  }
}

void Recorder::before_launch(StreamId stream, const Launch& launch) {
  streams_[stream.index()].launches.push_back({launch, now_ns(), 0});
}

void Recorder::after_launch(StreamId stream, const Launch&) {
  streams_[stream.index()].launches.back().end = now_ns();
}

void Recorder::before_record(StreamId stream, EventId event) {
  streams_[stream.index()].records.push_back({event, now_ns()});
}

void Recorder::before_wait(StreamId stream, EventId event) {
  streams_[stream.index()].waits.push_back({event, now_ns(), 0});
}

void Recorder::after_wait(StreamId stream, EventId) {
  streams_[stream.index()].waits.back().end = now_ns();
}

}  // namespace anabranch
