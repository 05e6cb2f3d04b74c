#include "anabranch/torch_ops/session.h"

#include <ATen/Parallel.h>

#include "anabranch/backends/cpu/helper_threads.h"
#include "anabranch/backends/cpu/worker_pool.h"
#include "anabranch/backends/torch/thread_count.h"
#include "anabranch/base/diagnostic.h"
#include "anabranch/formats/formats.h"

namespace anabranch::torch_ops {
namespace {

// torch sets a thread's OpenMP up at its first operator; done early, that cannot undo the number of
// threads that an operator was given.
void start_worker() {
  torch_backend::calm_openmp();
  at::init_num_threads();
  static_cast<void>(at::get_num_threads());
}

std::string type_name(const Node& node) {
  return node.kind == NodeKind::Wait ? "Identity" : formats::ge_type(node.op);
}

std::atomic<int64_t> adversary{-1};

}  // namespace

std::shared_ptr<CpuDevice> make_device(int cores, size_t max_workers, bool pin) {
  if (pin) HelperThreads::instance().pin();
  return std::make_shared<CpuDevice>(CpuOptions{
      .max_workers = max_workers, .cores = cores, .pin = pin, .thread_start = start_worker});
}

TraceSession& TraceSession::instance() {
  static auto* session = new TraceSession;
  return *session;
}

void TraceSession::begin() {
  std::lock_guard lock(mutex_);
  timeline_ = Timeline{};
  timeline_.title = "anabranch";
  timeline_.streams.push_back(TimelineStream{});  // the default stream is always the first track
  origin_ = now_ns();
  active_ = true;
}

void TraceSession::end() {
  std::lock_guard lock(mutex_);
  active_ = false;
  timeline_ = Timeline{};
}

void TraceSession::append(const Graph& graph, const Schedule& schedule, const Recorder& recorder,
                          int call) {
  std::lock_guard lock(mutex_);
  if (active_) append_call(timeline_, graph, schedule, recorder, call, origin_, type_name);
}

Timeline TraceSession::timeline() const {
  std::lock_guard lock(mutex_);
  if (!active_) throw Error("no-trace", "nothing is being recorded", "call trace_begin() first");
  return timeline_;
}

void set_adversary(int64_t seed) {
  adversary = seed;
  WorkerPool::instance().reverse_start(seed >= 0);
}

std::optional<uint64_t> adversary_seed() {
  int64_t seed = adversary.load(std::memory_order_relaxed);
  if (seed < 0) return std::nullopt;
  return static_cast<uint64_t>(seed);
}

}  // namespace anabranch::torch_ops
