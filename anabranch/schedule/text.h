// The text form of a schedule, for tests, bug reports and `anabranch inspect`.
#pragma once

#include <string>
#include <string_view>

#include "anabranch/schedule/schedule.h"

namespace anabranch {

/// Operators go by their names in `graph`. Throws Error ("syntax", "unknown-operator").
Schedule parse_schedule(const Graph& graph, std::string_view text);
std::string print_schedule(const Graph& graph, const Schedule& schedule);

}  // namespace anabranch
