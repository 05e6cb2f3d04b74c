#include "tests/fuzz/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <vector>

#include "anabranch/ir/text.h"

namespace anabranch::fuzz {
namespace {

/// A value of the program: a window of `count` elements (a size expression) on a buffer.
struct Window {
  std::string name, count;
  int fixed = -1;  // the count, when it is a number
  std::string shape, strides, offset;
  int buffer = 0, step = 1, first = 0;  // of one-dimensional windows of fixed size
  bool line = true;                     // one-dimensional and of fixed size

  std::string type() const {
    std::string text = "i64[" + shape + "]";
    if (!strides.empty()) text += "(" + strides + ")";
    if (!offset.empty()) text += "+" + offset;
    return text + fmt::format(" @b{}", buffer);
  }
};

Window make_line(const std::string& name, int count, int step, int first, int buffer) {
  Window window{name, std::to_string(count), count, std::to_string(count)};
  if (step != 1 && count > 1) window.strides = std::to_string(step);
  if (first != 0) window.offset = std::to_string(first);
  window.buffer = buffer;
  window.step = step;
  window.first = first;
  return window;
}

struct Style {
  int operators = 0, streams = 1, depth = 0;
  bool symbolic = false, failing = false;
};

class Generator {
 public:
  Generator(std::mt19937_64& random, const Style& style) : random_(random), style_(style) {}

  std::string program() {
    if (style_.symbolic) {
      text_ += "%n = input : int(s0)\n";
      add_input("xs", "s0");
      add_input("ys", "s0");
    }
    add_input("x", "8");
    add_input("y", "4");
    if (pick(3) == 0) add_alias_of_input();
    if (pick(3) == 0) add_input("w", "8", "constant");
    if (pick(4) == 0) add_input("z", "16");
    for (int i = 0; i < style_.operators; ++i) add_statement();
    return text_ + "return" + outputs();
  }

  /// A body with inputs like `operands`, which returns values of the given sizes.
  std::string body(const std::vector<Window>& operands, const std::vector<int>& results) {
    for (size_t i = 0; i < operands.size(); ++i)
      add_input(fmt::format("in{}", i), std::to_string(operands[i].fixed));
    for (int i = 0; i < style_.operators; ++i) add_statement();
    std::string outputs;
    for (int count : results) {
      if (!any_of_size(std::to_string(count)))
        emit(fresh(std::to_string(count)), fmt::format("ref.iota({})", pick(50)));
      outputs += (outputs.empty() ? " %" : ", %") + any_of_size(std::to_string(count))->name;
    }
    return text_ + "return" + outputs;
  }

 private:
  int pick(int below) { return static_cast<int>(random_() % static_cast<uint64_t>(below)); }
  std::string name() { return fmt::format("v{}", names_++); }

  /// Mostly recent values, so that programs are deep as well as wide.
  size_t any_index() {
    auto count = static_cast<int>(windows_.size());
    return static_cast<size_t>(pick(2) == 0 ? count - 1 - pick(std::min(count, 6)) : pick(count));
  }
  const Window& any() { return windows_[any_index()]; }

  const Window* any_of_size(const std::string& count) {
    std::vector<const Window*> found;
    for (const Window& window : windows_) {
      if (window.count == count) found.push_back(&window);
    }
    return found.empty() ? nullptr
                         : found[static_cast<size_t>(pick(static_cast<int>(found.size())))];
  }

  std::string label() {
    if (pick(3) < (style_.streams > 12 ? 2 : 1)) stream_ = pick(style_.streams);
    if (stream_ == 0) return "";
    std::string text = fmt::format(" {{\"_user_stream_label\": \"fuzz {}\"", stream_);
    if (stream_ % 5 == 1) text += ", \"_user_stream_priority\": \"-1\"";
    if (stream_ % 7 == 2) text += ", \"_enable_inner_parallel\": false";
    return text + "}";
  }

  Window fresh(const std::string& count) {
    if (count.find_first_not_of("0123456789") == std::string::npos)
      return make_line(name(), std::stoi(count), 1, 0, buffers_++);
    Window window{name(), count, -1, count};
    window.buffer = buffers_++;
    window.line = false;
    return window;
  }

  void add_input(const std::string& input, const std::string& count, const char* kind = "input") {
    Window window = fresh(count);
    window.name = input;
    text_ += fmt::format("%{} = {} : {}\n", input, kind, window.type());
    windows_.push_back(window);
  }

  void add_alias_of_input() {
    Window alias = make_line("alias", 4, 1, pick(5), windows_[style_.symbolic ? 2 : 0].buffer);
    text_ += fmt::format("%alias = input : {}\n", alias.type());
    windows_.push_back(alias);
  }

  void emit(const Window& result, const std::string& call, const std::string& clauses = "") {
    text_ += fmt::format("%{} = {}{}{} : {}\n", result.name, call, clauses, label(), result.type());
    windows_.push_back(result);
  }

  void add_statement() {
    int dice = pick(100);
    if (dice < 10) return add_maker();
    if (dice < 24) return add_view();
    if (dice < 34) return add_wait();
    if (dice < 38) return add_print();
    if (dice < 60) return add_in_place();
    if (dice < 65) return add_split();
    if (dice < 69) return add_halves();
    if (dice < 73) return add_item();
    if (dice < 78 && style_.depth < 2) return add_control();
    if (dice == 99 && style_.failing) return add_failure();
    add_pure();
  }

  void add_maker() {
    static const char* const kCounts[] = {"4", "8", "16", "0", "1"};
    std::string count = kCounts[pick(10) < 8 ? pick(3) : pick(5)];
    switch (pick(4)) {
      case 0: return emit(fresh(count), fmt::format("ref.iota({})", pick(100)));
      case 1: return emit(fresh(count), fmt::format("ref.fill({})", pick(100)));
      case 2: return emit(fresh(count), "ref.rand()", " effects(random \"cpu\")");
      default: return emit(fresh(count), "ref.rand()", " effects(random \"mine\")");
    }
  }

  void add_pure() {
    static const char* const kOps[] = {"ref.add", "ref.sub", "ref.mul"};
    Window a = any();
    if (pick(8) == 0) return emit(fresh("1"), fmt::format("ref.sum(%{})", a.name));
    const Window& b = *any_of_size(a.count);
    emit(fresh(a.count), fmt::format("{}(%{}, %{})", kOps[pick(3)], a.name, b.name));
  }

  void add_in_place() {
    static const char* const kOps[] = {"ref.add_", "ref.mul_", "ref.copy_"};
    Window a = any();
    std::string call;
    if (pick(4) == 0) {
      bool read_back = !symbols_.empty() && pick(2) == 0;
      call = fmt::format("ref.fill_(%{}, {})", a.name,
                         read_back ? "{" + any_symbol() + "}" : std::to_string(pick(100)));
    } else {
      call = fmt::format("{}(%{}, %{})", kOps[pick(3)], a.name, any_of_size(a.count)->name);
    }
    std::string writes = fmt::format(" writes(%{})", a.name);
    if (pick(2) == 0) {
      Window result = a;
      result.name = name();
      return emit(result, call, writes);
    }
    text_ += fmt::format("^{} {}{}{}\n", name(), call, writes, label());
  }

  void add_view() {
    Window base = any();
    Window view = base;
    if (!base.line || base.fixed < 4) {
      view.name = name();  // the same window once more
    } else if (int kind = pick(4); kind == 0) {
      view = make_line(name(), base.fixed / 2, base.step * 2, base.first + base.step * pick(2),
                       base.buffer);
    } else if (kind == 1) {
      view.name = name();
      view.line = false;
      int columns = base.fixed / 2;
      view.shape = fmt::format("{},2", columns);
      view.strides = fmt::format("{},{}", base.step, base.step * columns);
    } else {
      int count = kind == 2 ? base.fixed / 2 : 1 + pick(base.fixed);
      view = make_line(name(), count, base.step,
                       base.first + base.step * pick(base.fixed - count + 1), base.buffer);
    }
    text_ += fmt::format("%{} = view test.view(%{}) : {}\n", view.name, base.name, view.type());
    windows_.push_back(view);
  }

  void add_split() {
    Window whole = any();
    if (whole.fixed < 2 || whole.fixed % 2 != 0) return add_pure();
    std::string half = std::to_string(whole.fixed / 2);
    Window first = fresh(half), rest = fresh(half);
    text_ += fmt::format("%{}, %{} = ref.split2(%{}){} : {}, {}\n", first.name, rest.name,
                         whole.name, label(), first.type(), rest.type());
    windows_.push_back(first);
    windows_.push_back(rest);
  }

  /// After the wait every later use of the waiting value reads the wait's result.
  void add_wait() {
    std::string dependency = any().name, second = pick(4) == 0 ? any().name : "";
    size_t waiting = any_index();
    int number = waits_++;
    std::string result = name();
    text_ += fmt::format("%{} = wait {} (%{}){} : {}\n", result, number, windows_[waiting].name,
                         label(), windows_[waiting].type());
    text_ += fmt::format("^{} wait_dependency {} (%{})\n", name(), number, dependency);
    if (!second.empty())
      text_ += fmt::format("^{} wait_dependency {} (%{})\n", name(), number, second);
    if (pick(5) == 0) {  // the old name may still be used: a view taken earlier
      Window renamed = windows_[waiting];
      renamed.name = result;
      windows_.push_back(renamed);
    } else {
      windows_[waiting].name = result;
    }
  }

  void add_print() {
    text_ += fmt::format("^{} ref.print(%{}) effects(io \"log\"){}\n", name(), any().name, label());
  }

  /// An asynchronous operator: other operators may come between its halves.
  void add_halves() {
    if (!open_.empty() && pick(3) > 0) {
      auto [half, source] = open_.back();
      open_.pop_back();
      Window result = half;
      result.name = name();
      return emit(result, fmt::format("fuzz.finish(%{})", half.name),
                  fmt::format(" writes(%{}) reads(%{})", half.name, source));
    }
    Window source = any(), half = fresh(source.count);
    text_ += fmt::format("%{} = fuzz.start(%{}) effects(collective \"group\"){} : {}\n", half.name,
                         source.name, label(), half.type());
    open_.emplace_back(half, source.name);
  }

  std::string any_symbol() {
    return symbols_[static_cast<size_t>(pick(static_cast<int>(symbols_.size())))];
  }

  /// A number that an operator reads back, and a tensor whose size depends on it.
  void add_item() {
    if (style_.depth > 0) return add_pure();
    if (!symbols_.empty() && pick(2) == 0)
      return emit(fresh(any_symbol()), fmt::format("ref.iota({})", pick(100)));
    std::string symbol = fmt::format("u{}", symbols_.size());
    text_ += fmt::format("%{} = fuzz.item(%{}, \"{}\"){} : int({})\n", name(), any().name, symbol,
                         label(), symbol);
    symbols_.push_back(symbol);
  }

  void add_control() {
    std::vector<Window> operands;
    for (int i = 1 + pick(3); i > 0; --i) {
      const Window& window = any();
      if (window.fixed >= 0) operands.push_back(window);
    }
    if (operands.empty()) return add_pure();
    std::vector<int> results;
    for (int i = pick(3); i > 0; --i) results.push_back(pick(2) == 0 ? 4 : 8);
    bool branches = pick(2) == 0;
    std::string arguments = branches ? "%" + any().name : "";
    for (const Window& window : operands)
      arguments += (arguments.empty() ? "%" : ", %") + window.name;
    std::string bodies;
    for (int i = 0; i < (branches ? 2 : 1); ++i) {
      Style style{1 + pick(5), style_.streams, style_.depth + 1};
      bodies += fmt::format(" body graph \"b{}\" {{\n{}\n}}", i,
                            Generator(random_, style).body(operands, results));
    }
    std::string names, types;
    std::vector<Window> made;
    for (int count : results) {
      made.push_back(fresh(std::to_string(count)));
      names += (names.empty() ? "%" : ", %") + made.back().name;
      types += (types.empty() ? " : " : ", ") + made.back().type();
    }
    text_ += fmt::format("{} {}({}){}{}{}\n", names.empty() ? "^" + name() : names + " =",
                         branches ? "fuzz.cond" : "fuzz.loop", arguments, label(), bodies, types);
    windows_.insert(windows_.end(), made.begin(), made.end());
  }

  void add_failure() {
    text_ += fmt::format("^{} ref.throw(\"failure {}\", %{}){}\n", name(), pick(100), any().name,
                         label());
  }

  std::string outputs() {
    std::string outputs;
    for (int i = 1 + pick(6); i > 0; --i) {
      const Window& window = any();
      outputs += (outputs.empty() ? " %" : ", %") + window.name;
    }
    return outputs;
  }

  std::mt19937_64& random_;
  Style style_;
  std::string text_;
  std::vector<Window> windows_;
  std::vector<std::pair<Window, std::string>> open_;  // first halves and their sources
  std::vector<std::string> symbols_;
  int buffers_ = 0, names_ = 0, waits_ = 0, stream_ = 0;
};

}  // namespace

Graph random_program(uint64_t seed) {
  std::mt19937_64 random(seed);
  auto within = [&](uint64_t low, uint64_t high) {
    return static_cast<int>(low + random() % (high - low + 1));
  };
  Style style;
  int size = within(0, 99);
  style.operators = size < 60   ? within(5, 25)
                    : size < 90 ? within(25, 70)
                    : size < 98 ? within(70, 150)
                                : within(150, 300);
  style.streams = within(0, 3) > 0 ? within(1, 6) : within(1, 40);
  if (style.streams > 12) style.operators = std::max(style.operators, 2 * style.streams);
  style.symbolic = within(0, 4) == 0;
  style.failing = within(0, 9) == 0;
  std::string body = Generator(random, style).program();
  return parse_graph("anabranch 1\ngraph \"random\" {\n" + body + "\n}\n");
}

std::vector<int64_t> input_elements(uint64_t seed, const std::string& name, size_t count) {
  std::seed_seq mixed{seed, seed >> 32, uint64_t{name.size()},
                      static_cast<uint64_t>(name.empty() ? 0 : name.back())};
  std::mt19937_64 random(mixed);
  std::vector<int64_t> elements(count);
  for (int64_t& element : elements) element = static_cast<int64_t>(random() % 19) - 9;
  return elements;
}

int64_t symbol_value(uint64_t seed, const std::string& symbol) {
  return static_cast<int64_t>((seed * 7 + symbol.size()) % 6);
}

}  // namespace anabranch::fuzz
