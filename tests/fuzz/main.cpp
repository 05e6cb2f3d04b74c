// Checks random programs until one fails or the count is reached. `fuzz_ir --help` says how.
#include <fmt/format.h>

#include <unistd.h>
#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <mutex>
#include <sstream>
#include <thread>

#include "anabranch/ir/text.h"
#include "tests/fuzz/checker.h"
#include "tests/fuzz/generator.h"
#include "tests/fuzz/shrink.h"

namespace anabranch::fuzz {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostJobs = 256;
constexpr int kHangSeconds = 120;
// By job: the seed of the program that it checks, and since when; for crashes and hangs.
std::atomic<int64_t> running[kMostJobs];
std::atomic<int64_t> since[kMostJobs];

int64_t seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(Clock::now().time_since_epoch()).count();
}

void write_number(int64_t number) {
  char text[24];
  char* at = text + sizeof text;
  *--at = '\n';
  do *--at = static_cast<char>('0' + number % 10);
  while ((number /= 10) > 0);
  [[maybe_unused]] ssize_t n = write(2, at, static_cast<size_t>(text + sizeof text - at));
}

/// Only calls that are safe inside a signal handler.
void report_crash(int signal) {
  const char message[] = "crash while these programs were checked (fuzz_ir --seed N --count 1):\n";
  [[maybe_unused]] ssize_t n = write(2, message, sizeof message - 1);
  for (std::atomic<int64_t>& seed : running) {
    if (seed >= 0) write_number(seed);
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

struct Options {
  int64_t seed = 0, count = 5000;
  size_t jobs = 1;
  CheckOptions check;
  std::string file;
};

std::string kind_of(const std::string& problem) { return problem.substr(0, 16); }

/// Shrinks and prints. `seed` chooses the inputs and delays.
void report(const Graph& graph, const std::string& problem, const CheckOptions& options,
            const std::string& again) {
  std::cerr << fmt::format("FAILED: {}\n{}shrinking {} statements …\n", again, problem,
                           graph.nodes.size());
  CheckOptions harder = options;
  harder.breakages = 0;
  harder.adversaries = 8;
  auto fails = [&](const Graph& candidate) {
    auto found = check_program(candidate, harder);
    return found && kind_of(*found) == kind_of(problem);
  };
  Graph small = fails(graph) ? shrink(graph, fails) : graph;
  auto found = check_program(small, harder);
  std::cout << fmt::format(
      "# {}\n# The program, for `anabranch verify FILE` and `fuzz_ir --seed {} FILE`:\n{}# It "
      "fails "
      "with:\n",
      again, options.seed, print_graph(small));
  std::istringstream lines(found.value_or(problem));
  for (std::string line; std::getline(lines, line);) std::cout << "#   " << line << "\n";
  std::cout.flush();
}

class Run {
 public:
  explicit Run(const Options& options) : options_(options), next_(options.seed) {}

  bool run() {
    for (auto& seed : running) seed = -1;
    std::vector<std::thread> threads;
    for (size_t job = 0; job < options_.jobs; ++job)
      threads.emplace_back([this, job] { work(job); });
    std::thread watch([this] { watch_over(); });
    for (std::thread& thread : threads) thread.join();
    done_ = true;
    watch.join();
    double time = std::chrono::duration<double>(Clock::now() - start_).count();
    std::cout << fmt::format("fuzz_ir: {} programs, {} operators, {} failed, {:.1f} s (seed {})\n",
                             checked_.load(), operators_.load(), failed_ ? 1 : 0, time,
                             options_.seed);
    return !failed_;
  }

 private:
  void work(size_t job) {
    while (!failed_) {
      int64_t seed = next_++;
      if (seed >= options_.seed + options_.count) break;
      since[job] = seconds();
      running[job] = seed;
      Graph graph = random_program(static_cast<uint64_t>(seed));
      CheckOptions check = options_.check;
      check.seed = static_cast<uint64_t>(seed);
      std::optional<std::string> problem = check_program(graph, check);
      running[job] = -1;
      ++checked_;
      operators_ += static_cast<int64_t>(graph.nodes.size());
      if (!problem) continue;
      std::lock_guard lock(report_mutex_);
      if (!failed_.exchange(true))
        report(graph, *problem, check, fmt::format("fuzz_ir --seed {} --count 1", seed));
    }
    running[job] = -1;
  }

  void watch_over() {
    int64_t said = seconds();
    while (!done_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      int64_t now = seconds();
      for (size_t job = 0; job < options_.jobs && !failed_; ++job) {
        int64_t seed = running[job];
        if (seed < 0 || now - since[job] < kHangSeconds) continue;
        std::cerr << fmt::format("FAILED: a program does not end: fuzz_ir --seed {} --count 1\n{}",
                                 seed, print_graph(random_program(static_cast<uint64_t>(seed))));
        std::_Exit(1);
      }
      if (now - said < 10) continue;
      said = now;
      std::cerr << fmt::format("fuzz_ir: {} of {} programs\n", checked_.load(), options_.count);
    }
  }

  Options options_;
  Clock::time_point start_ = Clock::now();
  std::atomic<int64_t> next_, checked_{0}, operators_{0};
  std::atomic<bool> failed_{false}, done_{false};
  std::mutex report_mutex_;
};

bool check_file(const Options& options) {
  std::ifstream file(options.file);
  if (!file) throw Error("no-file", "cannot read " + options.file);
  std::stringstream text;
  text << file.rdbuf();
  Graph graph = parse_graph(text.str());
  CheckOptions check = options.check;
  check.seed = static_cast<uint64_t>(options.seed);
  std::optional<std::string> problem = check_program(graph, check);
  if (problem)
    report(graph, *problem, check, fmt::format("fuzz_ir --seed {} {}", options.seed, options.file));
  else
    std::cout << options.file << ": correct\n";
  return !problem;
}

int parse(int argc, char** argv) {
  CLI::App app(
      "Random programs: results equal program order, and the verifier refuses broken schedules.",
      "fuzz_ir");
  Options options;
  options.jobs = std::max(1u, std::thread::hardware_concurrency());
  app.add_option("FILE", options.file, "Check this graph text instead of random programs");
  app.add_option("--seed", options.seed, "First seed; program i has seed + i")->default_val(0);
  app.add_option("--count", options.count, "Programs")->default_val(5000);
  app.add_option("--jobs", options.jobs, "Programs at a time")
      ->check(CLI::Range(size_t{1}, kMostJobs));
  app.add_option("--adversaries", options.check.adversaries, "Runs with random delays")
      ->default_val(1);
  app.add_option("--longest-us", options.check.longest_us, "The longest delay")->default_val(20);
  app.add_option("--breakages", options.check.breakages,
                 "Broken schedules of each kind; 0: all that there are")
      ->default_val(6);
  CLI11_PARSE(app, argc, argv);
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT}) std::signal(signal, report_crash);
  return (options.file.empty() ? Run(options).run() : check_file(options)) ? 0 : 1;
}

}  // namespace
}  // namespace anabranch::fuzz

int main(int argc, char** argv) {
  try {
    return anabranch::fuzz::parse(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
