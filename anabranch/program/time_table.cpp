#include "anabranch/program/time_table.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

namespace anabranch {
namespace {

constexpr std::string_view kHeader = "anabranch operator times 1";
constexpr size_t kMostEntries = 20000;  // a file that grew beyond starts anew

std::string type_key(const Type& type) {
  const auto* tensor = std::get_if<TensorType>(&type);
  if (!tensor) return "host";
  TensorType bare = *tensor;
  bare.offset = 0;
  bare.buffer = BufferId(0);
  return to_string(Type(bare));
}

/// What is no value and no list.
struct LiteralText {
  std::string operator()(bool flag) const { return flag ? "true" : "false"; }
  std::string operator()(int64_t number) const { return fmt::format("{}", number); }
  std::string operator()(double number) const { return print_real(number); }
  std::string operator()(const std::complex<double>& number) const {
    return print_real(number.real()) + "+" + print_real(number.imag()) + "j";
  }
  std::string operator()(const std::string& text) const { return "\"" + text + "\""; }
  std::string operator()(DType dtype) const { return std::string(to_string(dtype)); }
  std::string operator()(const Keyword& keyword) const { return keyword.name; }
  std::string operator()(const Expr& expr) const { return to_string(expr); }
  template <class Other>
  std::string operator()(const Other&) const {
    return "none";
  }
};

void append(const Graph& graph, const Argument& argument, std::string& key) {
  if (const auto* value = std::get_if<ValueId>(&argument.value)) {
    key += type_key(graph.value(*value).type);
  } else if (const auto* list = std::get_if<ArgumentList>(&argument.value)) {
    key += "[";
    for (const Argument& item : *list) {
      append(graph, item, key);
      key += ",";
    }
    key += "]";
  } else {
    key += std::visit(LiteralText{}, argument.value);
  }
}

}  // namespace

std::string time_key(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::string key = node.op;
  for (const Operand& operand : node.operands) {
    key += " ";
    if (!operand.name.empty()) key += operand.name + "=";
    append(graph, operand.value, key);
  }
  for (char& letter : key) {
    if (letter == '\t' || letter == '\n') letter = ' ';
  }
  return key;
}

TimeTable& TimeTable::of(const std::string& path) {
  static std::mutex mutex;
  static auto* tables = new std::map<std::string, std::unique_ptr<TimeTable>>;
  // A lock that another thread holds during a fork would stay locked in the child.
  static const int watching = pthread_atfork(
      [] {
        mutex.lock();
        for (auto& [name, table] : *tables) table->mutex_.lock();
      },
      [] {
        for (auto& [name, table] : *tables) table->mutex_.unlock();
        mutex.unlock();
      },
      [] {
        for (auto& [name, table] : *tables) table->mutex_.unlock();
        mutex.unlock();
      });
  static_cast<void>(watching);
  std::lock_guard lock(mutex);
  std::unique_ptr<TimeTable>& table = (*tables)[path];
  if (!table) table.reset(new TimeTable(path));
  return *table;
}

TimeTable::TimeTable(std::string path) : path_(std::move(path)) {
  if (!path_.empty()) read(path_, times_);
}

std::optional<OperatorTime> TimeTable::find(const std::string& key) const {
  std::lock_guard lock(mutex_);
  auto found = times_.find(key);
  if (found == times_.end()) return std::nullopt;
  return found->second;
}

void TimeTable::add(const std::vector<std::pair<std::string, OperatorTime>>& entries) {
  std::lock_guard lock(mutex_);
  if (path_.empty()) {
    for (const auto& [key, time] : entries) times_[key] = time;
    return;
  }
  std::map<std::string, OperatorTime> merged;
  read(path_, merged);  // what others added since
  if (merged.size() + times_.size() > kMostEntries) merged.clear();
  merged.merge(times_);
  for (const auto& [key, time] : entries) merged[key] = time;
  times_ = std::move(merged);
  write();
}

void TimeTable::read(const std::string& path, std::map<std::string, OperatorTime>& into) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || line != kHeader) return;
  while (std::getline(file, line)) {
    size_t tab = line.rfind('\t');
    if (tab == line.npos) continue;
    std::istringstream numbers(line.substr(tab + 1));
    OperatorTime time;
    if (!(numbers >> time.one >> time.all >> time.split)) continue;
    bool sane = time.one >= 0 && time.all >= 0 && time.split >= 0 && std::isfinite(time.one) &&
                std::isfinite(time.all) && std::isfinite(time.split);
    if (sane) into[line.substr(0, tab)] = time;
  }
}

void TimeTable::write() const {
  namespace fs = std::filesystem;
  std::error_code ignored;
  fs::path target(path_);
  fs::create_directories(target.parent_path(), ignored);
  fs::path draft = target;
  draft += fmt::format(".{}", getpid());
  {
    std::ofstream file(draft);
    file << kHeader << "\n";
    for (const auto& [key, time] : times_)
      file << key << "\t" << fmt::format("{:.0f} {:.0f} {:.0f}\n", time.one, time.all, time.split);
    if (!file.flush()) {
      fs::remove(draft, ignored);
      return;
    }
  }
  fs::rename(draft, target, ignored);
}

}  // namespace anabranch
