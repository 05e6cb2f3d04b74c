// `anabranch timeline`: a recorded trace as one HTML page, or as numbers.
#include <iostream>

#include "anabranch/trace/trace.h"
#include "tools/commands.h"
#include "tools/document.h"

namespace anabranch::tools {

void timeline(const std::string& trace_file, const std::string& output) {
  Timeline recorded = trace::read_chrome_json(read_file(trace_file));
  if (output.empty()) {
    std::cout << trace::summary(recorded);
  } else {
    write_file(output, trace::html(recorded));
  }
}

}  // namespace anabranch::tools
