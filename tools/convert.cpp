// `anabranch convert`: between dump formats and graph text.
#include "anabranch/formats/formats.h"
#include "anabranch/ir/text.h"
#include "tools/commands.h"
#include "tools/document.h"

namespace anabranch::tools {

void convert(const std::string& file, const std::string& output, const std::string& format,
             const std::optional<size_t>& graph) {
  Document document = load(file);
  print_diagnostics(document.diagnostics);
  size_t number = choose_graph(document, graph);
  if (format == "ir") return write_file(output, print_graph(graph_of(document, number)));
  const formats::DumpGraph& dump = document.graphs[number];
  write_file(output,
             format == "txt" ? formats::write_ge_text(dump) : formats::write_torchair_pbtxt(dump));
}

}  // namespace anabranch::tools
