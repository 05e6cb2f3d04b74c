// anabranch: looks at graphs, checks, draws and converts them, shows timelines, and starts scripts.
#include "tools/commands.h"

#include <CLI/CLI.hpp>
#include <cstring>
#include <exception>
#include <iostream>

#include "anabranch/base/diagnostic.h"

namespace anabranch::tools {
namespace {

struct Options {
  std::string file, output, format;
  std::optional<size_t> graph;
  bool json = false;
};

CLI::App* add(CLI::App& app, Options& options, const char* name, const char* what) {
  CLI::App* command = app.add_subcommand(name, what);
  command->add_option("FILE", options.file, "Dump or graph text; - is the standard input")
      ->required();
  return command;
}

void add_graph(CLI::App* command, Options& options) {
  command->add_option("--graph", options.graph, "Which graph of the file, from 0");
}

int parse(int argc, char** argv) {
  CLI::App app("Multi-stream graphs: run, inspect, verify, draw, convert and time them.",
               "anabranch");
  app.set_version_flag("--version", "anabranch " ANABRANCH_VERSION);
  app.require_subcommand(1);
  Options options;

  // main() hands `run` over before this, so that every option after it reaches Python.
  app.add_subcommand("run",
                     "Run a script: run [--trace F] [--timeline F] [--threads N] SCRIPT [ARGS]");

  CLI::App* inspecting =
      add(app, options, "inspect", "Say what a file holds: graphs, streams, waits");
  inspecting->add_flag("--json", options.json, "As JSON, complete");

  CLI::App* verifying =
      add(app, options, "verify", "Check that every order the program needs is kept");

  CLI::App* drawing = add(app, options, "draw", "Draw a graph by its streams");
  drawing->add_option(
      "-o,--output", options.output,
      "Picture by extension: .svg, .png, .pdf or .dot; else dot to the standard output");
  add_graph(drawing, options);

  CLI::App* converting = add(app, options, "convert", "Write a graph in another format");
  converting->add_option("-o,--output", options.output, "Where to; else the standard output");
  converting
      ->add_option("--to", options.format,
                   "pbtxt (TorchAir's: Netron, TensorBoard), txt (GE's), ir (graph text)")
      ->required()
      ->check(CLI::IsMember({"pbtxt", "txt", "ir"}));
  add_graph(converting, options);

  CLI::App* timing = app.add_subcommand("timeline", "Show a trace that `run --trace` wrote");
  timing->add_option("TRACE", options.file, "Chrome trace JSON; - is the standard input")
      ->required();
  timing->add_option("-o,--output", options.output, "HTML page; else a summary is printed");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  std::string output = options.output.empty() ? "-" : options.output;
  if (*inspecting) inspect(options.file, options.json);
  if (*verifying) return verify_file(options.file) ? 0 : 1;
  if (*drawing) draw(options.file, output, options.graph);
  if (*converting) convert(options.file, output, options.format, options.graph);
  if (*timing) timeline(options.file, options.output);
  return 0;
}

}  // namespace
}  // namespace anabranch::tools

int main(int argc, char** argv) {
  try {
    if (argc > 1 && std::strcmp(argv[1], "run") == 0) anabranch::tools::exec_run(argc, argv);
    return anabranch::tools::parse(argc, argv);
  } catch (const anabranch::Error& error) {
    std::cerr << error.what() << "\n";
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
  }
  return 1;
}
