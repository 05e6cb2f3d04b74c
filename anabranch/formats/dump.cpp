#include "anabranch/formats/dump.h"

#include <algorithm>
#include <array>

namespace anabranch::formats {

std::string stream_label(const DumpOp& op) {
  if (const std::string* label = find_string(op.attributes, anabranch::keys::kAssignedStream))
    return *label;
  if (const std::string* label = find_string(op.attributes, anabranch::keys::kStreamLabel))
    return *label;
  auto found = op.attributes.find("stream_id");
  if (found != op.attributes.end()) {
    const auto* id = std::get_if<int64_t>(&found->second);
    if (id && *id > 0) return "stream" + std::to_string(*id);
  }
  return "";
}

bool is_data_type(const std::string& type) {
  static constexpr std::array kTypes{
      "Data",        "RefData",      "AippData",         "Const",
      "Constant",    "FileConstant", "ConstPlaceHolder", "PlaceHolder",
      "Placeholder", "Variable",     "RefVariable"};
  return std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end();
}

}  // namespace anabranch::formats
