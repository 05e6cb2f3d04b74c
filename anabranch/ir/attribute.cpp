#include "anabranch/ir/attribute.h"

#include "anabranch/base/lexer.h"
#include "anabranch/ir/argument.h"

namespace anabranch {

const std::string* find_string(const Attributes& attributes, std::string_view key) {
  auto found = attributes.find(key);
  return found == attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
}

namespace {

template <class T, class Print>
std::string print_list(const std::vector<T>& items, Print print) {
  std::string text = "[";
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += ',';
    text += print(items[i]);
  }
  return text + "]";
}

struct Printer {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return print_real(value); }
  std::string operator()(const std::string& value) const { return quote(value); }
  std::string operator()(const std::vector<int64_t>& values) const {
    return print_list(values, [](int64_t v) { return std::to_string(v); });
  }
  std::string operator()(const std::vector<std::string>& values) const {
    return print_list(values, [](const std::string& v) { return quote(v); });
  }
};

}  // namespace

std::string to_string(const Attribute& attribute) { return std::visit(Printer{}, attribute); }

}  // namespace anabranch
