#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "anabranch/trace/rows.h"
#include "anabranch/trace/trace.h"

namespace anabranch::trace {
namespace {

using Json = nlohmann::json;

constexpr const char* kWayOut =
    "give a file that `anabranch run --trace FILE` or `anabranch simulate` wrote";

/// One object of the file, read field by field; every complaint names where it is.
class Fields {
 public:
  Fields(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) fail("is not an object");
  }

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error("bad-trace", "trace file: " + where_ + " " + problem, kWayOut);
  }

  bool has(const char* key) const { return object_.contains(key); }

  const Json& at(const char* key) const {
    auto found = object_.find(key);
    if (found == object_.end()) fail(fmt::format("has no \"{}\"", key));
    return *found;
  }

  Fields object(const char* key) const {
    return Fields(at(key), fmt::format("{}: \"{}\"", where_, key));
  }

  std::string text(const char* key) const {
    const Json& value = at(key);
    if (!value.is_string()) fail(fmt::format("has a \"{}\" that is not text", key));
    return value.get<std::string>();
  }

  bool flag(const char* key) const {
    const Json& value = at(key);
    if (!value.is_boolean()) fail(fmt::format("has a \"{}\" that is neither true nor false", key));
    return value.get<bool>();
  }

  template <class Integer>
  Integer integer(const char* key) const {
    const Json& value = at(key);
    if (!value.is_number_integer()) fail(fmt::format("has a \"{}\" that is not an integer", key));
    bool fits = value.is_number_unsigned() ? std::in_range<Integer>(value.get<uint64_t>())
                                           : std::in_range<Integer>(value.get<int64_t>());
    if (!fits) fail(fmt::format("has a \"{}\" that is out of range", key));
    return value.get<Integer>();
  }

  /// Microseconds, as whole nanoseconds. Doubles hold every nanosecond of 104 days exactly.
  int64_t time(const char* key) const {
    const Json& value = at(key);
    if (!value.is_number()) fail(fmt::format("has a \"{}\" that is not a number", key));
    double nanoseconds = value.get<double>() * 1000;
    if (!(std::abs(nanoseconds) < 9e15))
      fail(fmt::format("has a \"{}\" that is out of range", key));
    return std::llround(nanoseconds);
  }

 private:
  const Json& object_;
  std::string where_;
};

class Reader {
 public:
  Timeline read(const Json& file) {
    if (!file.is_object() || !file.contains("traceEvents")) {
      throw Error("foreign-trace", "this JSON file is no Chrome trace: it has no \"traceEvents\"",
                  kWayOut);
    }
    Fields top(file, "the file");
    read_header(top);
    const Json& events = top.at("traceEvents");
    if (!events.is_array()) top.fail("has a \"traceEvents\" that is not a list");
    // Streams first: the order of events in a file is free.
    for (size_t i = 0; i < events.size(); ++i) read_track(Fields(events[i], where(i)));
    for (size_t i = 0; i < events.size(); ++i) read_slice(Fields(events[i], where(i)));
    check_timeline(timeline_);
    return std::move(timeline_);
  }

 private:
  static std::string where(size_t index) { return fmt::format("event {}", index + 1); }

  void read_header(const Fields& top) {
    const char* kFormat = "anabranch timeline";
    if (!top.has("otherData") || !top.at("otherData").is_object() ||
        top.at("otherData").value("format", Json()) != kFormat) {
      throw Error("foreign-trace",
                  "this Chrome trace was not written by anabranch: \"otherData\" does not say "
                  "\"format\": \"anabranch timeline\"",
                  kWayOut);
    }
    Fields header = top.object("otherData");
    if (int version = header.integer<int>("version"); version != 1) {
      header.fail(fmt::format("has version {}, this program reads version 1", version));
    }
    timeline_.title = header.text("title");
    timeline_.predicted = header.flag("predicted");
  }

  void read_track(const Fields& event) {
    if (event.text("ph") != "M" || event.text("name") != "thread_name") return;
    Fields args = event.object("args");
    size_t stream = args.integer<size_t>("stream");
    // Every stream has an event of its own, so a hole in the numbers is damage, not a big file.
    if (stream > timeline_.streams.size()) args.fail("has a \"stream\" out of order");
    if (stream == timeline_.streams.size()) timeline_.streams.emplace_back();
    timeline_.streams[stream] = {args.text("label"), args.integer<int64_t>("priority")};
    stream_of_track_[event.integer<int>("tid")] = stream;
  }

  void read_slice(const Fields& event) {
    if (event.text("ph") != "X") return;
    std::string category = event.text("cat");
    if (category == "operator") timeline_.spans.push_back(read_span(event));
    if (category == "wait") timeline_.arrows.push_back(read_wait(event));
  }

  size_t stream_of(const Fields& event) const {
    auto found = stream_of_track_.find(event.integer<int>("tid"));
    if (found == stream_of_track_.end()) event.fail("is on a track without a \"thread_name\"");
    return found->second;
  }

  TimelineSpan read_span(const Fields& event) const {
    TimelineSpan span;
    span.stream = stream_of(event);
    span.begin = event.time("ts");
    span.end = span.begin + event.time("dur");
    Fields args = event.object("args");
    span.name = args.text("name");
    span.type = args.text("type");
    span.op = args.text("op");
    span.operands = args.text("operands");
    span.results = args.text("results");
    span.threads = args.integer<int>("threads");
    span.call = args.integer<int>("call");
    span.program = args.text("program");
    if (args.has("source")) {
      Fields source = args.object("source");
      span.source = {source.text("file"), source.integer<int>("line"), source.text("function")};
    }
    return span;
  }

  TimelineArrow read_wait(const Fields& event) const {
    TimelineArrow arrow;
    arrow.to_stream = stream_of(event);
    arrow.waited_from = event.time("ts");
    arrow.resumed = arrow.waited_from + event.time("dur");
    Fields args = event.object("args");
    arrow.event = args.text("event");
    arrow.from_stream = args.integer<size_t>("from_stream");
    arrow.recorded = args.time("recorded");
    arrow.call = args.integer<int>("call");
    arrow.program = args.text("program");
    return arrow;
  }

  Timeline timeline_;
  std::unordered_map<int, size_t> stream_of_track_;
};

Json parse(const std::string& text) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    size_t position = std::min(text.size(), error.byte > 0 ? error.byte - 1 : 0);
    auto line =
        1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(position), '\n');
    std::string problem = text.find_first_not_of(" \t\r\n") == std::string::npos ? "it is empty"
                          : position >= text.size() ? "it ends too early"
                                                    : "unexpected text";
    throw Error("not-json", fmt::format("the trace file is not JSON: {} in line {}", problem, line),
                kWayOut);
  } catch (const Json::exception& error) {
    throw Error("not-json", fmt::format("the trace file is not usable JSON: {}", error.what()),
                kWayOut);
  }
}

}  // namespace

Timeline read_chrome_json(const std::string& text) { return Reader().read(parse(text)); }

}  // namespace anabranch::trace
