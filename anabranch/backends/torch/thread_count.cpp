#include "anabranch/backends/torch/thread_count.h"

#include <ATen/Parallel.h>
#include <pthread.h>

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>

// Weak: the copies that torch has loaded are the ones that matter, and a torch without OpenMP or
// MKL has none. The MKL entry must be the mixed-case one; the lower-case name is Fortran's, which
// takes a pointer.
extern "C" {
void omp_set_num_threads(int) __attribute__((weak));
int omp_get_max_threads() __attribute__((weak));
int MKL_Set_Num_Threads_Local(int) __attribute__((weak));
void GOMP_parallel(void (*)(void*), void*, unsigned, unsigned) __attribute__((weak));
}

namespace anabranch::torch_backend {
namespace {

void start_thread() {
  static thread_local const bool started = (static_cast<void>(at::get_num_threads()), true);
  static_cast<void>(started);
}

// The threads that OpenMP keeps for a thread do not exist in the child of a fork, and it waits for
// them all the same: there, operators of the thread that forked run on that thread alone.
thread_local bool forked = false, renewed = false;
[[maybe_unused]] const int watching = pthread_atfork(nullptr, nullptr, [] {
  forked = true;
  renewed = false;
});

// Torch makes a thread pool of its own anew when the child first sets a number of threads, and not
// safely for several threads: the one that forked does it before any worker starts.
void renew_pool() {
  if (!renewed) at::init_num_threads();
  renewed = true;
}

int openmp_threads() { return omp_get_max_threads ? omp_get_max_threads() : 1; }
int swap_mkl(int threads) {
  return MKL_Set_Num_Threads_Local ? MKL_Set_Num_Threads_Local(threads) : threads;
}

ThreadSetting in_force() {
  int mkl = swap_mkl(0);
  swap_mkl(mkl);
  return {openmp_threads(), mkl};
}

void put_in_force(const ThreadSetting& setting) {
  if (omp_set_num_threads) omp_set_num_threads(setting.openmp);
  swap_mkl(setting.mkl);
}

}  // namespace

ThreadSetting ThreadSetting::current() {
  start_thread();
  if (!forked) return in_force();
  renew_pool();
  return {1, 1};
}

ThreadCount::ThreadCount() {
  start_thread();
  before_ = now_ = in_force();
}

ThreadCount::~ThreadCount() { use(before_); }

void ThreadCount::use(const ThreadSetting& setting) {
  if (setting == now_) return;
  put_in_force(setting);
  now_ = setting;
}

void ThreadCount::look_again() { now_ = in_force(); }

void calm_openmp() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (!GOMP_parallel || std::getenv("OMP_WAIT_POLICY") || std::getenv("GOMP_SPINCOUNT")) return;
    try {
      // libgomp spins a thousand times less as soon as it has more threads than there are cores. So
      // one thread, which does nothing else, keeps such a team.
      std::thread([] {
        GOMP_parallel([](void*) {}, nullptr, std::thread::hardware_concurrency() + 1, 0);
        for (;;) std::this_thread::sleep_for(std::chrono::hours(24));
      }).detach();
    } catch (const std::system_error&) {  // no thread to be had: OpenMP stays as it is
    }
  });
}

}  // namespace anabranch::torch_backend
