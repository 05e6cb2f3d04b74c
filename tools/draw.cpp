// `anabranch draw`: the graph by streams, through Graphviz.
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "anabranch/formats/draw.h"
#include "tools/commands.h"
#include "tools/document.h"

extern char** environ;

namespace anabranch::tools {
namespace {

constexpr size_t kManyOperators = 2000;  // beyond, laying out takes minutes

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // the reader is gone: its exit status says why
    text.remove_prefix(static_cast<size_t>(written));
  }
}

/// Feeds `dot` to Graphviz' dot program, which writes `path`.
void render(const std::string& dot, const std::string& format, const std::string& path) {
  int ends[2];
  if (pipe(ends) != 0) throw Error("draw", fmt::format("no pipe: {}", std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  std::string kind = "-T" + format;
  std::string program = "dot", flag = "-o", target = path;
  char* arguments[] = {program.data(), kind.data(), flag.data(), target.data(), nullptr};
  pid_t child = 0;
  int failed = posix_spawnp(&child, "dot", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[0]);
  if (failed != 0) {
    close(ends[1]);
    throw Error("no-graphviz", fmt::format("cannot start Graphviz' dot: {}", std::strerror(failed)),
                "sudo apt-get install graphviz, or write a .dot file and draw it elsewhere");
  }
  signal(SIGPIPE, SIG_IGN);
  write_all(ends[1], dot);
  close(ends[1]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw Error("draw", fmt::format("Graphviz could not draw {} (its message is above)", path));
  }
}

}  // namespace

void draw(const std::string& file, const std::string& output, const std::optional<size_t>& number) {
  Document document = load(file);
  print_diagnostics(document.diagnostics);
  const formats::DumpGraph& graph = document.graphs[choose_graph(document, number)];
  std::string dot = formats::draw_dot(graph);
  std::string format = std::filesystem::path(output).extension().string();
  if (!format.empty()) format.erase(0, 1);
  if (output == "-" || format == "dot" || format == "gv") {
    write_file(output, dot);
  } else if (format.empty()) {
    throw Error("draw", fmt::format("{} has no extension that names a format", output),
                "use .svg, .png, .pdf or .dot");
  } else {
    if (graph.ops.size() > kManyOperators) {
      std::cerr << fmt::format("laying out {} operators takes a while\n", graph.ops.size());
    }
    render(dot, format, output);
  }
}

}  // namespace anabranch::tools
