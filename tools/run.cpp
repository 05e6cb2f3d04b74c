// `anabranch run …`: the runner is Python; this finds an interpreter and becomes it.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "anabranch/base/diagnostic.h"
#include "tools/commands.h"

namespace anabranch::tools {
namespace {

/// $ANABRANCH_PYTHON; else the python3 beside this program (a virtual environment); else by PATH.
std::string find_python() {
  if (const char* chosen = std::getenv("ANABRANCH_PYTHON"); chosen && *chosen) return chosen;
  std::error_code failed;
  std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (!failed) {
    std::filesystem::path beside = self.parent_path() / "python3";
    if (access(beside.c_str(), X_OK) == 0) return beside.string();
  }
  return "python3";
}

}  // namespace

void exec_run(int argc, char** argv) {
  std::string python = find_python();
  std::vector<char*> arguments{python.data(), const_cast<char*>("-m"),
                               const_cast<char*>("anabranch")};
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  arguments.push_back(nullptr);
  execvp(python.c_str(), arguments.data());
  throw Error("no-python", fmt::format("cannot start {}: {}", python, std::strerror(errno)),
              "set ANABRANCH_PYTHON to a Python that has torch and anabranch");
}

}  // namespace anabranch::tools
