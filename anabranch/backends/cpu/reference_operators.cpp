// The built-in operators of the reference kernels.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include "anabranch/backends/cpu/reference_kernels.h"

namespace anabranch {
namespace {

// Unsigned arithmetic wraps, as torch's integers do.
int64_t add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
int64_t second(int64_t, int64_t b) { return b; }

using Binary = int64_t (*)(int64_t, int64_t);

void combine(const ReferenceWindow& out, const ReferenceWindow& a, const ReferenceWindow& b,
             Binary f) {
  size_t count = out.count();
  if (a.count() != count || b.count() != count) {
    throw Error("bad-argument", fmt::format("sizes differ: [{}] and [{}]", fmt::join(a.sizes, ","),
                                            fmt::join(b.sizes, ",")));
  }
  for (size_t i = 0; i < count; ++i) out.at(i) = f(a.at(i), b.at(i));
}

void fill(const ReferenceWindow& out, int64_t value) {
  for (size_t i = 0; i < out.count(); ++i) out.at(i) = value;
}

ReferenceOperator pure(Binary f) {
  return [f](ReferenceCall& call) {
    ReferenceWindow a = call.input(0), b = call.input(1);
    combine(call.result(0), a, b, f);
  };
}

ReferenceOperator in_place(Binary f) {
  return [f](ReferenceCall& call) {
    ReferenceWindow a = call.input(0), b = call.input(1);
    combine(a, a, b, f);
  };
}

void iota(ReferenceCall& call) {
  int64_t first = call.operand_count() > 0 ? call.integer(0) : 0;
  ReferenceWindow out = call.result(0);
  for (size_t i = 0; i < out.count(); ++i) out.at(i) = first + static_cast<int64_t>(i);
}

void sum(ReferenceCall& call) {
  ReferenceWindow a = call.input(0);
  int64_t total = 0;
  for (size_t i = 0; i < a.count(); ++i) total = add(total, a.at(i));
  fill(call.result(0), total);
}

void split2(ReferenceCall& call) {
  ReferenceWindow a = call.input(0), first = call.result(0), rest = call.result(1);
  for (size_t i = 0; i < a.count(); ++i) {
    (i < first.count() ? first.at(i) : rest.at(i - first.count())) = a.at(i);
  }
}

void rand(ReferenceCall& call) {
  uint64_t& state = call.values().generators.at(call.node().effects.at(0).resource);
  ReferenceWindow out = call.result(0);
  for (size_t i = 0; i < out.count(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;  // Knuth's MMIX
    out.at(i) = static_cast<int64_t>(state >> 33);
  }
}

void print(ReferenceCall& call) {
  ReferenceWindow a = call.input(0);
  std::vector<int64_t> elements;
  for (size_t i = 0; i < a.count(); ++i) elements.push_back(a.at(i));
  call.values().log.push_back(fmt::format("{}: {}", call.node().name, fmt::join(elements, " ")));
}

void sleep(ReferenceCall& call) {
  std::this_thread::sleep_for(std::chrono::microseconds(call.integer(0)));
  if (call.node().results.empty()) return;
  if (!call.is_value(1)) return fill(call.result(0), 0);
  ReferenceWindow a = call.input(1), out = call.result(0);
  combine(out, out, a, second);
}

void raise(ReferenceCall& call) { throw std::runtime_error(call.text(0)); }

}  // namespace

ReferenceKernels::ReferenceKernels() {
  define("ref.fill", [](ReferenceCall& call) { fill(call.result(0), call.integer(0)); });
  define("ref.fill_", [](ReferenceCall& call) { fill(call.input(0), call.integer(1)); });
  define("ref.iota", iota);
  define("ref.add", pure(add));
  define("ref.sub", pure(sub));
  define("ref.mul", pure(mul));
  define("ref.add_", in_place(add));
  define("ref.mul_", in_place(mul));
  define("ref.copy_", in_place(second));
  define("ref.sum", sum);
  define("ref.split2", split2);
  define("ref.rand", rand);
  define("ref.print", print);
  define("ref.sleep", sleep);
  define("ref.throw", raise);
}

}  // namespace anabranch
