// The devices that keep the contract of schedule/schedule.h: a new backend adds one line.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "anabranch/runtime/device.h"

namespace anabranch::testing {

struct Backend {
  std::string name;
  std::function<std::shared_ptr<Device>()> make;
  std::function<std::shared_ptr<Device>(int cores)> make_with_cores;
};

const std::vector<Backend>& backends();

}  // namespace anabranch::testing
