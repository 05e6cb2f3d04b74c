// Graphs for the measurement of own cost: one chain of small operators per stream.
#pragma once

#include <fmt/format.h>

#include <string>

#include "anabranch/ir/graph.h"
#include "anabranch/ir/text.h"

namespace anabranch::benchmarks {

/// `streams` chains of `length` operators `op(%previous, %x)` on 8 floats; the first chain is on
/// the default stream, the k-th on stream "k". Returns the last result of each.
inline Graph make_chains(const std::string& op, int streams, int length) {
  std::string text = "anabranch 1\ngraph \"chains\" {\n  %x = input : f32[8] @b0\n";
  std::string outputs;
  int buffer = 1;
  for (int s = 0; s < streams; ++s) {
    std::string last = "x";
    for (int i = 0; i < length; ++i) {
      std::string name = fmt::format("v{}_{}", s, i);
      text += fmt::format("  %{} = {}(%{}, %x)", name, op, last);
      if (s > 0) text += fmt::format(" {{\"_user_stream_label\": \"{}\"}}", s);
      text += fmt::format(" : f32[8] @b{}\n", buffer++);
      last = name;
    }
    outputs += (s > 0 ? ", %" : "%") + last;
  }
  return parse_graph(text + "  return " + outputs + "\n}\n");
}

}  // namespace anabranch::benchmarks
