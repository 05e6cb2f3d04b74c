// The commands of `anabranch`, one file each; main.cpp reads the command line for them. Bad input
// throws Error, which main() prints (exit status 1).
#pragma once

#include <optional>
#include <string>

namespace anabranch::tools {

/// FILE arguments may be "-", the standard input; outputs "-", the standard output. `graph` is the
/// number of a graph in a file of several.

void inspect(const std::string& file, bool as_json);

/// Prints findings; true if the file is legal.
bool verify_file(const std::string& file);

/// The format goes by the extension of `output`.
void draw(const std::string& file, const std::string& output, const std::optional<size_t>& graph);

/// `format`: "pbtxt", "txt" or "ir".
void convert(const std::string& file, const std::string& output, const std::string& format,
             const std::optional<size_t>& graph);

/// One HTML page; a summary on the standard output when `output` is empty.
void timeline(const std::string& trace, const std::string& output);

/// Becomes `python -m anabranch run …`; returns only to throw Error.
[[noreturn]] void exec_run(int argc, char** argv);

}  // namespace anabranch::tools
