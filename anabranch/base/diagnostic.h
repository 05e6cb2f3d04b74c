// What goes wrong, said so that a user can act on it: what, where, and the way out.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace anabranch {

/// A line of the user's program. `line` 0 means unknown.
struct SourceLocation {
  std::string file;
  int line = 0;
  std::string function;

  bool known() const { return line > 0; }
  bool operator==(const SourceLocation&) const = default;
};

/// "model.py:12 in forward", or "unknown source line".
std::string to_string(const SourceLocation& location);

enum class Severity { Note, Warning, Error };
std::string_view to_string(Severity severity);

/// One finding. `rule` is a stable short name ("race-raw", "deadlock"), `fix` says what would make
/// the input legal, `related` lists the source lines involved, most important first.
struct Diagnostic {
  Severity severity = Severity::Error;
  std::string rule;
  std::string message;
  std::string fix;
  std::vector<SourceLocation> related;
};

/// "error[race-raw]: message\n  at model.py:12 in forward\n  fix: …"
std::string to_string(const Diagnostic& diagnostic);

/// Bad input of any kind: carries one or more diagnostics; what() is their text.
class Error : public std::runtime_error {
 public:
  explicit Error(Diagnostic diagnostic);
  explicit Error(std::vector<Diagnostic> diagnostics);
  Error(std::string rule, std::string message, std::string fix = {});

  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace anabranch
