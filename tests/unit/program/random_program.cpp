#include "tests/unit/program/random_program.h"

#include <fmt/format.h>

#include <random>
#include <vector>

namespace anabranch::testing {
namespace {

struct Window {
  std::string name;
  int count = 0, stride = 1, offset = 0, buffer = 0;

  std::string type() const {
    std::string text = fmt::format("i64[{}]", count);
    if (stride != 1) text += fmt::format("({})", stride);
    if (offset != 0) text += fmt::format("+{}", offset);
    return text + fmt::format(" @b{}", buffer);
  }
};

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {
    add_input("x", 8);
    add_input("y", 4);
  }

  std::string generate(int operators) {
    for (int i = 0; i < operators; ++i) add_statement();
    std::string outputs;
    for (const Window& window : windows_) {
      if (pick(3) == 0) outputs += (outputs.empty() ? " %" : ", %") + window.name;
    }
    return text_ + "return" + outputs;
  }

 private:
  int pick(int below) { return static_cast<int>(random_() % static_cast<uint64_t>(below)); }
  Window& any() { return windows_[static_cast<size_t>(pick(static_cast<int>(windows_.size())))]; }

  /// Another window of the same size, maybe the same one.
  const Window& partner(const Window& of) {
    for (;;) {
      const Window& window = any();
      if (window.count == of.count) return window;
    }
  }

  std::string label() {
    int stream = pick(5);
    if (stream == 0) return "";
    return fmt::format(" {{\"_user_stream_label\": \"random{}\"}}", stream);
  }

  void add_input(const std::string& name, int count) {
    windows_.push_back({name, count, 1, 0, buffers_++});
    text_ += fmt::format("%{} = input : {}\n", name, windows_.back().type());
  }

  Window fresh(int count) { return {fmt::format("v{}", names_++), count, 1, 0, buffers_++}; }

  void emit(const Window& result, const std::string& call, const std::string& clauses = "") {
    text_ += fmt::format("%{} = {}{}{} : {}\n", result.name, call, clauses, label(), result.type());
    windows_.push_back(result);
  }

  void add_statement() {
    switch (pick(10)) {
      case 0: return add_maker();
      case 1: return add_slice();
      case 2: return add_split();
      case 3: return add_wait();
      case 4: {
        text_ += fmt::format("^p{} ref.print(%{}) effects(io \"log\"){}\n", names_++, any().name,
                             label());
        return;
      }
      case 5:
      case 6:
      case 7: return add_in_place();
      default: return add_pure();
    }
  }

  void add_maker() {
    int count = pick(2) == 0 ? 4 : 8;
    switch (pick(3)) {
      case 0: return emit(fresh(count), fmt::format("ref.iota({})", pick(100)));
      case 1: return emit(fresh(count), fmt::format("ref.fill({})", pick(100)));
      default: return emit(fresh(count), "ref.rand()", " effects(random \"cpu\")");
    }
  }

  void add_pure() {
    static constexpr const char* kOps[] = {"ref.add", "ref.sub", "ref.mul"};
    Window a = any();
    const Window& b = partner(a);
    emit(fresh(a.count), fmt::format("{}(%{}, %{})", kOps[pick(3)], a.name, b.name));
  }

  void add_in_place() {
    static constexpr const char* kOps[] = {"ref.add_", "ref.mul_", "ref.copy_"};
    Window a = any();
    std::string call;
    if (pick(4) == 0) {
      call = fmt::format("ref.fill_(%{}, {})", a.name, pick(100));
    } else {
      call = fmt::format("{}(%{}, %{})", kOps[pick(3)], a.name, partner(a).name);
    }
    std::string writes = fmt::format(" writes(%{})", a.name);
    if (pick(2) == 0) {
      Window result = a;
      result.name = fmt::format("v{}", names_++);
      return emit(result, call, writes);
    }
    text_ += fmt::format("^w{} {}{}{}\n", names_++, call, writes, label());
  }

  void add_slice() {
    Window base = any();
    if (base.count < 8) return;
    Window slice = base;
    slice.name = fmt::format("v{}", names_++);
    slice.count = 4;
    bool every_second = pick(2) == 0;
    slice.stride = base.stride * (every_second ? 2 : 1);
    slice.offset = base.offset + base.stride * pick(every_second ? 2 : 5);
    text_ += fmt::format("%{} = view test.slice(%{}) : {}\n", slice.name, base.name, slice.type());
    windows_.push_back(slice);
  }

  void add_split() {
    Window whole = any();
    if (whole.count < 8) return;
    Window first = fresh(4), rest = fresh(4);
    text_ += fmt::format("%{}, %{} = ref.split2(%{}){} : {}, {}\n", first.name, rest.name,
                         whole.name, label(), first.type(), rest.type());
    windows_.push_back(first);
    windows_.push_back(rest);
  }

  /// After the wait every later use of the waiting value reads the wait's result.
  void add_wait() {
    const std::string dependency = any().name;
    Window& waiting = any();
    int number = waits_++;
    std::string name = fmt::format("v{}", names_++);
    text_ += fmt::format("%{} = wait {} (%{}){} : {}\n", name, number, waiting.name, label(),
                         waiting.type());
    text_ += fmt::format("^dep_{} wait_dependency {} (%{})\n", number, number, dependency);
    waiting.name = name;
  }

  std::mt19937_64 random_;
  std::string text_;
  std::vector<Window> windows_;
  int buffers_ = 0, names_ = 0, waits_ = 0;
};

}  // namespace

std::string random_program(uint64_t seed, int operators) {
  return Generator(seed).generate(operators);
}

}  // namespace anabranch::testing
