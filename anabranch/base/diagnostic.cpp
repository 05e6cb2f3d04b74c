#include "anabranch/base/diagnostic.h"

#include <fmt/format.h>

namespace anabranch {

std::string to_string(const SourceLocation& location) {
  if (!location.known()) return "unknown source line";
  if (location.function.empty()) return fmt::format("{}:{}", location.file, location.line);
  return fmt::format("{}:{} in {}", location.file, location.line, location.function);
}

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::Note: return "note";
    case Severity::Warning: return "warning";
    case Severity::Error: return "error";
  }
  return "error";
}

std::string to_string(const Diagnostic& diagnostic) {
  std::string text = fmt::format("{}[{}]: {}", to_string(diagnostic.severity), diagnostic.rule,
                                 diagnostic.message);
  for (const SourceLocation& location : diagnostic.related) {
    if (location.known()) text += fmt::format("\n  at {}", to_string(location));
  }
  if (!diagnostic.fix.empty()) text += fmt::format("\n  fix: {}", diagnostic.fix);
  return text;
}

namespace {

std::string join(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!text.empty()) text += '\n';
    text += to_string(diagnostic);
  }
  return text;
}

}  // namespace

Error::Error(Diagnostic diagnostic) : Error(std::vector<Diagnostic>{std::move(diagnostic)}) {}

Error::Error(std::vector<Diagnostic> diagnostics)
    : std::runtime_error(join(diagnostics)), diagnostics_(std::move(diagnostics)) {}

Error::Error(std::string rule, std::string message, std::string fix)
    : Error(Diagnostic{Severity::Error, std::move(rule), std::move(message), std::move(fix), {}}) {}

}  // namespace anabranch
