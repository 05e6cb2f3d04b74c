#include "tests/conformance/backends.h"

#include "anabranch/backends/cpu/cpu_device.h"
#include "tests/conformance/thread_device.h"

namespace anabranch::testing {

const std::vector<Backend>& backends() {
  static const std::vector<Backend> list{
      {"cpu", [] { return std::make_shared<CpuDevice>(); },
       [](int cores) { return std::make_shared<CpuDevice>(CpuOptions{.cores = cores}); }},
      {"threads", [] { return std::make_shared<ThreadDevice>(4); },
       [](int cores) { return std::make_shared<ThreadDevice>(4, cores); }},
  };
  return list;
}

}  // namespace anabranch::testing
