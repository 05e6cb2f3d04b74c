// Times what a compile costs before kernels are bound, for graphs as big as asked: reading the
// graph text, and all passes with every check. W7 of the benchmarks. Prints one JSON object a line.
//
//   compile_time [--operators N] [--repeat R] [--text] [SHAPE…]      (all shapes when none is
//   named)
//
// Seconds are CPU time of this thread, the smallest of R runs. --text prints the graph instead.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "anabranch/base/lexer.h"
#include "anabranch/ir/text.h"
#include "anabranch/passes/pipeline.h"

namespace anabranch {
namespace {

/// Writes statements as capture does: operands, types, scope attributes and source lines.
class Writer {
 public:
  explicit Writer(size_t operators) : left_(operators) {
    text_ = "anabranch 1\ngraph \"generated\" {\n";
    text_ += "  %x = input : f32[64,64] @b0\n";
  }

  bool more() const { return left_ > 0; }
  size_t count() const { return counted_; }

  /// A launched operator with one new result; returns the result's name.
  std::string operation(std::string_view op, std::string_view operands, size_t stream) {
    std::string name = fmt::format("v{}", counted_);
    text_ += fmt::format("  %{} = aten.{}({}){} : f32[64,64] @b{}{}\n", name, op, operands,
                         label(stream), ++buffers_, place());
    counted();
    return name;
  }

  /// `%target` is changed in place; returns the name of the same memory afterwards.
  std::string update(std::string_view op, std::string_view target, std::string_view operands,
                     size_t stream, size_t buffer) {
    std::string name = fmt::format("v{}", counted_);
    text_ += fmt::format("  %{} = aten.{}(%{}, {}) writes(%{}){} : f32[64,64] @b{}{}\n", name, op,
                         target, operands, target, label(stream), buffer, place());
    counted();
    return name;
  }

  std::string view(std::string_view source, std::string_view type) {
    std::string name = fmt::format("w{}", windows_++);
    text_ += fmt::format("  %{} = view aten.view(%{}, [64]) : {}{}\n", name, source, type, place());
    return name;
  }

  /// Later users of the result wait for what made `dependency`.
  std::string wait(std::string_view tensor, std::string_view dependency, size_t stream,
                   size_t buffer) {
    std::string name = fmt::format("v{}", counted_);
    text_ += fmt::format("  %{} = wait {}(%{}){} : f32[64,64] @b{}{}\n", name, waits_, tensor,
                         label(stream), buffer, place());
    text_ += fmt::format("  wait_dependency {}(%{})\n", waits_++, dependency);
    counted();
    return name;
  }

  std::string finish(std::string_view result) {
    text_ += fmt::format("  return %{}\n}}\n", result);
    return std::move(text_);
  }

  size_t last_buffer() const { return buffers_; }

 private:
  void counted() {
    ++counted_;
    left_ -= std::min<size_t>(left_, 1);
  }
  static std::string label(size_t stream) {
    if (stream == 0) return "";
    return fmt::format(
        " {{\"_enable_inner_parallel\": true, \"_user_stream_label\": \"s{}\", "
        "\"_user_stream_priority\": \"0\"}}",
        stream);
  }
  std::string place() const {
    return fmt::format(" at {} {} in \"forward\"", quote("model/layer.py"), 10 + counted_ % 400);
  }

  std::string text_;
  size_t left_, counted_ = 0, buffers_ = 0, waits_ = 0, windows_ = 0;
};

/// One operator after the other on the default stream.
std::string chain(size_t operators) {
  Writer writer(operators);
  std::string last = "x";
  while (writer.more()) last = writer.operation("relu", "%" + last, 0);
  return writer.finish(last);
}

/// 40 streams side by side, which meet after every 20 operators each.
std::string wide(size_t operators) {
  constexpr size_t kStreams = 40, kSteps = 20;
  Writer writer(operators);
  std::string start = "x";
  while (writer.more()) {
    std::vector<std::string> ends;
    for (size_t stream = 1; stream <= kStreams && writer.more(); ++stream) {
      std::string last = start;
      for (size_t step = 0; step < kSteps && writer.more(); ++step)
        last = writer.operation("mm", fmt::format("%{}, %x", last), stream);
      ends.push_back(last);
    }
    start = ends.front();
    for (const std::string& end : ends)
      start = writer.operation("add.Tensor", fmt::format("%{}, %{}", start, end), 0);
  }
  return writer.finish(start);
}

/// Eight streams; every third operator is a wait for the stream before.
std::string waits(size_t operators) {
  constexpr size_t kStreams = 8;
  Writer writer(operators);
  std::string before = "x";
  for (size_t i = 0; writer.more(); ++i) {
    size_t stream = 1 + i % kStreams;
    std::string made = writer.operation("mul.Tensor", fmt::format("%x, %{}", before), stream);
    size_t buffer = writer.last_buffer();
    std::string waited = writer.wait(made, before, stream, buffer);
    before = writer.operation("add.Tensor", fmt::format("%{}, 1", waited), stream);
  }
  return writer.finish(before);
}

/// One buffer that two streams write and three read, like a cache.
std::string writes(size_t operators) {
  Writer writer(operators);
  std::string cache = writer.operation("clone", "%x", 0), sum = cache;
  size_t buffer = writer.last_buffer();
  for (size_t i = 0; writer.more(); ++i) {
    cache = writer.update("add_.Tensor", cache, "1", 1 + i % 2, buffer);
    for (size_t stream = 3; stream < 6; ++stream)
      sum = writer.operation("mul.Tensor", fmt::format("%{}, %{}", cache, cache), stream);
  }
  return writer.finish(sum);
}

/// Rows of one buffer, each read through views of views and written in place, on four streams.
std::string views(size_t operators) {
  Writer writer(operators);
  std::string base = writer.operation("clone", "%x", 0), last = base;
  size_t buffer = writer.last_buffer();
  for (size_t i = 0; writer.more(); ++i) {
    std::string type = fmt::format("f32[64](1)+{} @b{}", i % 64 * 64, buffer);
    std::string row = writer.view(writer.view(base, type), type);
    if (i % 4 == 0) {
      writer.update("copy_", row, fmt::format("%{}", last), 1 + i % 4, buffer);
    } else {
      last = writer.operation("sin", "%" + row, 1 + i % 4);
    }
  }
  return writer.finish(last);
}

struct Shape {
  std::string_view name;
  std::string (*write)(size_t);
};
constexpr Shape kShapes[] = {
    {"chain", chain}, {"wide", wide}, {"waits", waits}, {"writes", writes}, {"views", views}};

double cpu_seconds(const std::function<void()>& work) {
  auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  double begin = now();
  work();
  return now() - begin;
}

passes::PipelineOptions options() {
  passes::PipelineOptions all;
  all.cores = 2;
  all.fold = true;
  all.placeable = [](const Graph& graph) { return std::vector<bool>(graph.buffer_count, true); };
  return all;
}

void time_shape(const Shape& shape, size_t operators, int repeat) {
  std::string text = shape.write(operators);
  double parse = 1e9, compile = 1e9;
  for (int i = 0; i < repeat; ++i) {
    Graph graph;
    passes::Compiled compiled;  // lives on: a program keeps it
    parse = std::min(parse, cpu_seconds([&] { graph = parse_graph(text); }));
    compile = std::min(
        compile, cpu_seconds([&] { compiled = passes::compile(std::move(graph), options()); }));
  }
  fmt::print(
      "{{\"shape\": \"{}\", \"operators\": {}, \"text_bytes\": {}, \"parse_s\": {:.4f}, "
      "\"passes_s\": {:.4f}, \"total_s\": {:.4f}}}\n",
      shape.name, operators, text.size(), parse, compile, parse + compile);
  std::fflush(stdout);
}

int number(int count, char** arguments, int& at) {
  std::string_view text = at + 1 < count ? arguments[++at] : "";
  int value = 0;
  auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || value < 1) throw Error("usage", "a positive number is missing");
  return value;
}

void run(int count, char** arguments) {
  size_t operators = 100000;
  int repeat = 3;
  bool print = false;
  std::vector<std::string_view> names;
  for (int i = 1; i < count; ++i) {
    std::string_view word = arguments[i];
    if (word == "--operators") {
      operators = static_cast<size_t>(number(count, arguments, i));
    } else if (word == "--repeat") {
      repeat = number(count, arguments, i);
    } else if (word == "--text") {
      print = true;
    } else {
      names.push_back(word);
    }
  }
  for (std::string_view name : names) {
    if (std::none_of(std::begin(kShapes), std::end(kShapes),
                     [&](const Shape& shape) { return shape.name == name; }))
      throw Error("usage", fmt::format("unknown shape {}", name),
                  "one of: chain, wide, waits, writes, views");
  }
  for (const Shape& shape : kShapes) {
    if (!names.empty() && std::find(names.begin(), names.end(), shape.name) == names.end())
      continue;
    if (print) {
      fmt::print("{}", shape.write(operators));
    } else {
      time_shape(shape, operators, repeat);
    }
  }
}

}  // namespace
}  // namespace anabranch

int main(int count, char** arguments) {
  try {
    anabranch::run(count, arguments);
    return 0;
  } catch (const std::exception& problem) {
    fmt::print(stderr, "compile_time: {}\n", problem.what());
    return 2;
  }
}
