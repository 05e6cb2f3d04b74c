// Graph dumps of TorchAir and GE, read tolerantly and written by the grammar of docs/formats.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "anabranch/base/diagnostic.h"
#include "anabranch/ir/graph.h"

namespace anabranch::formats {

enum class DumpKind { TorchAirPbtxt, GeText, GeOnnx, Unknown };

/// By content: GE and TorchAir share file extensions.
DumpKind detect(std::string_view text);

struct DumpTensor {
  std::string name;
  std::string dtype;             // "DT_FLOAT16"
  std::vector<int64_t> shape;    // -1 dynamic dim; {-2} unknown rank
  std::string layout;            // "ND"
  std::string device_type;       // "NPU", "CPU"
  bool operator==(const DumpTensor&) const = default;
};

struct DumpInput {
  std::string producer;  // "" keeps the position of an absent input
  int64_t index = 0;     // output of the producer; -1 is a control edge
  bool control() const { return index == -1; }
  bool operator==(const DumpInput&) const = default;
};

struct DumpOp {
  std::string name;
  std::string type;
  std::vector<DumpInput> inputs;
  Attributes attributes;                         // typed ones
  std::map<std::string, std::string> unparsed;   // kept as text: unknown kinds
  std::vector<DumpTensor> input_descs;
  std::vector<DumpTensor> output_descs;
  bool operator==(const DumpOp&) const = default;
};

struct DumpGraph {
  std::string name;
  std::vector<DumpOp> ops;
  bool operator==(const DumpGraph&) const = default;
};

struct Dump {
  DumpKind kind = DumpKind::Unknown;
  std::vector<DumpGraph> graphs;
  std::vector<Diagnostic> diagnostics;  // "truncated at line 24541; 1200 operators were read"
};

/// Never throws on bad content: says in `diagnostics` what is wrong, with the line, and returns what
/// was read. No recursion over the input's size; tens of MB are fine.
Dump read_dump(std::string_view text);

std::string write_torchair_pbtxt(const DumpGraph& graph);
std::string write_ge_text(const DumpGraph& graph);

/// A graph of ours as a dump: GE operator types, dump names (type, type_1, …), descriptors,
/// Identity for waits, one NetOutput. docs/formats.md says what each attribute means.
DumpGraph to_dump(const Graph& graph);

/// A dump as a graph, to be scheduled and verified: types become operator names, data inputs become
/// values, control inputs control edges, labels attributes. Descriptors give types where they exist.
Graph from_dump(const DumpGraph& dump);

/// "aten.add.Tensor" → "Add"; an in-place form maps to its functional form; an operator without a GE
/// counterpart keeps its name.
std::string ge_type(std::string_view aten_name);

/// The graph drawn by streams, for Graphviz: operators coloured and grouped by stream, data edges
/// solid, waits dashed.
std::string draw_dot(const DumpGraph& graph);

}  // namespace anabranch::formats
