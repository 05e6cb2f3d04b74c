#include "random_dump.h"

#include <fmt/format.h>

#include <array>

namespace anabranch::formats {
namespace {

size_t pick(std::mt19937& random, size_t count) {
  return std::uniform_int_distribution<size_t>(0, count - 1)(random);
}

Attribute random_attribute(std::mt19937& random) {
  switch (pick(random, 6)) {
    case 0: return pick(random, 2) == 0;
    case 1: return static_cast<int64_t>(random()) * (pick(random, 2) == 0 ? 1 : -4000000000);
    case 2: return (static_cast<double>(pick(random, 4096)) - 2048) / 64;
    case 3: return random_text(random);
    case 4: {
      std::vector<int64_t> items(pick(random, 4));
      for (int64_t& item : items) item = static_cast<int64_t>(pick(random, 100)) - 50;
      return items;
    }
    default: {
      std::vector<std::string> items(pick(random, 4));
      for (std::string& item : items) item = random_text(random);
      return items;
    }
  }
}

DumpTensor random_tensor(std::mt19937& random, std::string name) {
  static constexpr std::array kTypes{"DT_FLOAT", "DT_FLOAT16", "DT_INT64", "DT_BOOL"};
  DumpTensor tensor{std::move(name), kTypes[pick(random, kTypes.size())], {}, "ND", "NPU", {}};
  for (size_t rank = pick(random, 4); rank > 0; --rank) {
    tensor.shape.push_back(static_cast<int64_t>(pick(random, 10)) - 1);
  }
  if (pick(random, 8) == 0) tensor.shape = {-2};
  if (pick(random, 4) == 0) tensor.unparsed = "has_out_attr: true\n";
  return tensor;
}

}  // namespace

std::string random_text(std::mt19937& random) {
  static constexpr std::array kPieces{"add", "\"", "'", "\n", "\\", ":",    ":0",
                                      "流",  "ß",  " ", "x1", "\t", "{",    "}",
                                      "#",   "^",  "[", "\r", "/",  "\x01", "\\n"};
  std::string text;
  for (size_t count = 1 + pick(random, 5); count > 0; --count) {
    text += kPieces[pick(random, kPieces.size())];
  }
  return text;
}

DumpGraph random_dump(unsigned seed, size_t operators) {
  std::mt19937 random(seed);
  DumpGraph graph;
  for (size_t i = 0; i < operators; ++i) {
    DumpOp op;
    // A name that begins with ^ would read as a control edge in TensorFlow's form.
    op.name = fmt::format("n{}{}", i, random_text(random));
    op.type = pick(random, 3) == 0 ? random_text(random) : "Add";
    for (size_t count = i == 0 ? 0 : pick(random, 4); count > 0; --count) {
      DumpInput input{graph.ops[pick(random, i)].name, static_cast<int64_t>(pick(random, 3)) - 1};
      if (pick(random, 6) == 0) input = {};
      op.inputs.push_back(input);
    }
    for (size_t count = pick(random, 4); count > 0; --count) {
      op.attributes["k" + random_text(random)] = random_attribute(random);
    }
    if (pick(random, 3) == 0) op.unparsed["dt"] = "dt: 3\n";
    if (pick(random, 3) == 0) op.unparsed["flags"] = "list {\n  b: true\n  b: false\n}\n";
    if (pick(random, 3) == 0) op.unparsed["none"] = "";
    for (size_t k = pick(random, 3); k > 0; --k) {
      op.input_descs.push_back(random_tensor(random, fmt::format("x{}", 3 - k)));
      op.output_descs.push_back(random_tensor(random, fmt::format("y{}", 3 - k)));
    }
    graph.ops.push_back(std::move(op));
  }
  return graph;
}

}  // namespace anabranch::formats
