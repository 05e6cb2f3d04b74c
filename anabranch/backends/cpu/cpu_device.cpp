#include "anabranch/backends/cpu/cpu_device.h"

#include <algorithm>
#include <new>

#include "anabranch/backends/cpu/affinity.h"

namespace anabranch {
namespace {

constexpr std::align_val_t kAlignment{64};

/// An event is recorded when its word holds the number of the call, so a new call only counts up.
class EpochEvents : public CallEvents {
 public:
  explicit EpochEvents(size_t count) : words_(std::make_unique<Word[]>(count)) {}
  void record(StreamId, EventId event) override { words_[event.index()].word.publish(epoch_); }
  void wait(StreamId, EventId event) override { words_[event.index()].word.await(epoch_); }
  bool recorded(EventId event) override { return words_[event.index()].word.load() == epoch_; }
  void reset() override { ++epoch_; }

 private:
  struct alignas(64) Word {  // a cache line each: a spinning waiter must not slow other events
    WaitWord word;
  };
  std::unique_ptr<Word[]> words_;
  uint32_t epoch_ = 0;
};

}  // namespace

CpuDevice::CpuDevice(const CpuOptions& options)
    : pool_(WorkerPool::instance()),
      max_workers_(options.max_workers),
      cores_(options.cores > 0 ? options.cores : available_cores()) {
  if (max_workers_ == 0) max_workers_ = static_cast<size_t>(std::max(8, 2 * available_cores()));
  if (options.thread_start) pool_.add_thread_hook(options.thread_start);
  if (options.pin) pool_.pin_workers();
}

std::vector<size_t> CpuDevice::assign_lanes(std::span<const StreamProgram> streams) {
  std::vector<size_t> lanes;
  for (const StreamProgram& program : streams) {
    lanes.push_back(lanes.empty() ? 0 : 1 + pool_.worker_of(program.stream.label, max_workers_));
  }
  return lanes;
}

std::unique_ptr<CallEvents> CpuDevice::make_events(const Schedule& schedule) {
  return std::make_unique<EpochEvents>(schedule.event_count);
}

void* CpuDevice::allocate(size_t bytes) {
  return ::operator new(std::max<size_t>(bytes, 1), kAlignment);
}

void CpuDevice::deallocate(void* memory) noexcept { ::operator delete(memory, kAlignment); }

}  // namespace anabranch
