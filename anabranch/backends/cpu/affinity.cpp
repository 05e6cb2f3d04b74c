#include "anabranch/backends/cpu/affinity.h"

#include <algorithm>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

namespace anabranch {

#ifdef __linux__

namespace {

/// Read once, before the first thread is pinned.
const cpu_set_t& allowed() {
  static const cpu_set_t set = [] {
    cpu_set_t read;
    CPU_ZERO(&read);
    if (sched_getaffinity(0, sizeof read, &read) != 0) CPU_ZERO(&read);
    return read;
  }();
  return set;
}

}  // namespace

int available_cores() { return std::max(1, CPU_COUNT(&allowed())); }

bool pin_to_core(size_t index) {
  int skip = static_cast<int>(index % static_cast<size_t>(available_cores()));
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed()) || skip-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
  }
  return false;
}

#else

int available_cores() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }
bool pin_to_core(size_t) { return false; }

#endif

}  // namespace anabranch
