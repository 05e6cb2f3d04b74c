// The content of a graph dump, whichever of the text formats it came from. Plain data.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "anabranch/base/diagnostic.h"
#include "anabranch/ir/attribute.h"

namespace anabranch::formats {

enum class DumpKind { TorchAirPbtxt, GeText, GeOnnx, Unknown };

struct DumpTensor {
  std::string name;
  std::string dtype;           // "DT_FLOAT16"; unknown enum values stay as they were written
  std::vector<int64_t> shape;  // -1 dynamic dim; {-2} unknown rank; empty: scalar
  std::string layout;          // "ND"
  std::string device_type;     // "NPU" device memory, "CPU" host
  std::string unparsed;        // further fields, as proto text
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
  Attributes attributes;  // typed ones
  std::map<std::string, std::string>
      unparsed;  // kinds we do not model, as proto text of the value;
                 // "op.<field>": fields of the operator itself
  std::vector<DumpTensor> input_descs;
  std::vector<DumpTensor> output_descs;
  bool operator==(const DumpOp&) const = default;
};

struct DumpGraph {
  std::string name;  // TorchAir's pbtxt has no place for it
  std::vector<DumpOp> ops;
  std::string unparsed;  // further fields of the graph, as proto text
  bool operator==(const DumpGraph&) const = default;
};

struct Dump {
  DumpKind kind = DumpKind::Unknown;
  std::vector<DumpGraph> graphs;
  std::vector<Diagnostic> diagnostics;  // "truncated at line 24541; 1200 operators were read"
};

/// The stream that the operator was put on: `_stream_label` (assigned), else `_user_stream_label`,
/// else GE's `stream_id` as "stream<id>". "" is the default stream, also GE's stream 0.
std::string stream_label(const DumpOp& op);

/// True for operators that only hold data (Data, Const, …): they run on no stream.
bool is_data_type(const std::string& type);

}  // namespace anabranch::formats
