#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "anabranch/trace/trace.h"
#include "sample.h"

namespace anabranch::trace {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

std::vector<Json> events(const Timeline& timeline, const std::string& phase) {
  std::vector<Json> found;
  Json file = Json::parse(chrome_json(timeline));
  for (const Json& event : file["traceEvents"]) {
    if (event["ph"] == phase) found.push_back(event);
  }
  return found;
}

/// The slice of the event's track that is open at its time: what a viewer binds a flow to.
std::string enclosing_slice(const Timeline& timeline, const Json& flow) {
  std::string innermost;
  double latest = -1;
  for (const Json& slice : events(timeline, "X")) {
    double begin = slice["ts"], end = begin + slice["dur"].get<double>(), time = flow["ts"];
    if (slice["tid"] == flow["tid"] && begin <= time && time < end && begin >= latest) {
      latest = begin;
      innermost = slice["name"];
    }
  }
  return innermost;
}

TEST(ChromeJson, TracksPerStream) {
  std::map<int, std::string> names;
  std::map<int, int> order;
  std::string process;
  for (const Json& event : events(two_streams(), "M")) {
    if (event["name"] == "process_name") process = event["args"]["name"];
    if (event["name"] == "thread_name") names[event["tid"]] = event["args"]["name"];
    if (event["name"] == "thread_sort_index") order[event["tid"]] = event["args"]["sort_index"];
  }
  EXPECT_EQ(process, "two_streams");
  EXPECT_EQ(names, (std::map<int, std::string>{{1, "default stream"},
                                               {2, "stream 1 (priority -1)"},
                                               {3, "stream 2 (priority -2)"}}));
  EXPECT_EQ(order, (std::map<int, int>{{1, 0}, {2, 1}, {3, 2}}));
}

TEST(ChromeJson, OperatorSlices) {
  std::vector<Json> slices = events(two_streams(), "X");
  ASSERT_EQ(slices.size(), 6u);
  const Json& mm = slices[1];
  EXPECT_EQ(mm["name"], "mm");
  EXPECT_EQ(mm["cat"], "operator");
  EXPECT_EQ(mm["tid"], 2);
  EXPECT_DOUBLE_EQ(mm["ts"], 1.010);
  EXPECT_DOUBLE_EQ(mm["dur"], 101.990);
  EXPECT_EQ(mm["args"]["op"], "aten.mm.default");
  EXPECT_EQ(mm["args"]["operands"], "f16[1000,1000], f16[1000,1000]");
  EXPECT_EQ(mm["args"]["results"], "f16[1000,1000]");
  EXPECT_EQ(mm["args"]["source"]["line"], 12);
  EXPECT_EQ(mm["args"]["threads"], 1);
  EXPECT_EQ(mm["args"]["call"], 0);
  EXPECT_EQ(mm["args"]["program"], "forward");
  EXPECT_EQ(slices[4]["name"], "wait e0: add → mm");
  EXPECT_EQ(slices[4]["cat"], "wait");
  EXPECT_EQ(slices[4]["tid"], 2);
}

TEST(ChromeJson, FlowsBindToOperators) {
  Timeline timeline = two_streams();
  std::vector<Json> starts = events(timeline, "s"), ends = events(timeline, "f");
  ASSERT_EQ(starts.size(), 2u);
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(enclosing_slice(timeline, starts[0]), "add");
  EXPECT_EQ(enclosing_slice(timeline, ends[0]), "mm");
  EXPECT_EQ(enclosing_slice(timeline, starts[1]), "mm_1");
  EXPECT_EQ(enclosing_slice(timeline, ends[1]), "add_1");
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(starts[i]["id"], ends[i]["id"]);
    EXPECT_EQ(ends[i]["bp"], "e");
    EXPECT_LE(starts[i]["ts"].get<double>(), ends[i]["ts"].get<double>());
  }
}

TEST(ChromeJson, FlowsWithoutOperatorsStillBind) {
  // default  record e0 at 5, before anything ran
  // s        wait 1..8, then nothing
  Timeline timeline = make_streams({"s"});
  timeline.arrows = {make_arrow(0, 5, 1, 1, 8, "e0")};
  EXPECT_EQ(enclosing_slice(timeline, events(timeline, "s").at(0)), "record e0");
  EXPECT_EQ(enclosing_slice(timeline, events(timeline, "f").at(0)), "wait e0");
  EXPECT_EQ(read_chrome_json(chrome_json(timeline)), timeline) << "the record slice is no operator";
}

TEST(ChromeJson, FlowsStayInTheirCall) {
  // Concurrent calls: the event of call 1 is recorded while call 0 runs on the same stream.
  Timeline timeline = make_streams({"s"});
  timeline.spans = {make_span(0, 0, 10, "first", 1), make_span(0, 11, 18, "other", 0),
                    make_span(1, 22, 30, "last", 1)};
  timeline.arrows = {make_arrow(0, 20, 1, 2, 21, "e0", 1)};
  EXPECT_EQ(enclosing_slice(timeline, events(timeline, "s").at(0)), "first");
  EXPECT_EQ(enclosing_slice(timeline, events(timeline, "f").at(0)), "last");
}

TEST(ChromeJson, SlicesOfATrackNeverOverlap) {
  Timeline timeline = make_streams({"s"});
  for (int call = 0; call < 3; ++call) {
    timeline.spans.push_back(make_span(0, 4 * call, 4 * call + 10, "a", call));
    timeline.spans.push_back(make_span(1, 4 * call + 11, 4 * call + 20, "b", call));
    timeline.arrows.push_back(make_arrow(0, 4 * call + 10, 1, 4 * call, 4 * call + 11, "e0", call));
  }
  std::map<int, std::vector<std::pair<double, double>>> tracks;
  for (const Json& slice : events(timeline, "X")) {
    double begin = slice["ts"];
    tracks[slice["tid"]].push_back({begin, begin + slice["dur"].get<double>()});
  }
  EXPECT_GT(tracks.size(), 2u);
  for (auto& [track, slices] : tracks) {
    std::sort(slices.begin(), slices.end());
    for (size_t i = 1; i < slices.size(); ++i)
      EXPECT_LE(slices[i - 1].second, slices[i].first + 1e-9);
  }
  EXPECT_EQ(read_chrome_json(chrome_json(timeline)), timeline);
}

TEST(ChromeJson, RoundTrip) {
  Timeline timeline = two_streams();
  timeline.predicted = true;
  timeline.title = "a \"title\" with <tags> & ünïcode \n\x01";
  timeline.streams.push_back({"never used", 7});
  timeline.spans[0].source = {};
  timeline.spans[1].name = "";
  timeline.spans[2].source = {"a in b:3.py", 4, ""};
  timeline.arrows[0].program = "forward";
  EXPECT_EQ(read_chrome_json(chrome_json(timeline)), timeline);
  EXPECT_EQ(read_chrome_json(chrome_json(Timeline{})), Timeline{});
}

TEST(ChromeJson, RoundTripOfRandomTimes) {
  std::mt19937_64 random(7);
  Timeline timeline = make_streams({"s"});
  for (int i = 0; i < 500; ++i) {
    int64_t begin = static_cast<int64_t>(random() % 1'000'000'000'000);
    int64_t length = static_cast<int64_t>(random() % 1'000'000);
    timeline.spans.push_back(make_span(random() % 2, begin, begin + length, "op", i));
    timeline.arrows.push_back(make_arrow(0, begin, 1, begin - 3, begin + length, "e", i));
  }
  EXPECT_EQ(read_chrome_json(chrome_json(timeline)), timeline);
}

TEST(ChromeJson, InvalidUtf8StaysReadable) {
  Timeline timeline = two_streams();
  timeline.spans[0].name = "caf\xe9";
  EXPECT_EQ(read_chrome_json(chrome_json(timeline)).spans[0].name, "caf\xef\xbf\xbd");
}

/// "rule: message" of the error, or "" when there is none.
std::string failure(const std::string& text) {
  try {
    read_chrome_json(text);
  } catch (const Error& error) {
    return error.diagnostics().front().rule + ": " + error.diagnostics().front().message;
  }
  return "";
}

std::string edited(const std::function<void(Json&)>& edit) {
  Json file = Json::parse(chrome_json(two_streams()));
  edit(file);
  return file.dump();
}

Json& find(Json& file, const char* category) {
  for (Json& event : file["traceEvents"]) {
    if (event.value("cat", "") == category) return event;
  }
  throw std::logic_error("no such event");
}

TEST(ReadChromeJson, NotJson) {
  EXPECT_EQ(failure(""), "not-json: the trace file is not JSON: it is empty in line 1");
  EXPECT_EQ(failure("{\n\"a\": nonsense"),
            "not-json: the trace file is not JSON: unexpected text in line 2");
  std::string whole = chrome_json(two_streams());
  EXPECT_THAT(failure(whole.substr(0, whole.size() - 4)), HasSubstr("it ends too early"));
  EXPECT_THAT(failure("{\"a\": 1e999}"), HasSubstr("not-json"));
  EXPECT_THAT(failure(std::string(1'000'000, '[')), HasSubstr("it ends too early"));
}

TEST(ReadChromeJson, ForeignFiles) {
  EXPECT_THAT(failure("[]"), HasSubstr("foreign-trace: this JSON file is no Chrome trace"));
  EXPECT_THAT(failure("{}"), HasSubstr("foreign-trace"));
  EXPECT_THAT(failure("{\"traceEvents\": []}"),
              HasSubstr("foreign-trace: this Chrome trace was not written"));
  EXPECT_THAT(failure("{\"traceEvents\": [], \"otherData\": {\"format\": 3}}"),
              HasSubstr("foreign-trace"));
  EXPECT_THAT(failure(edited([](Json& file) { file["otherData"]["version"] = 2; })),
              HasSubstr("has version 2"));
}

TEST(ReadChromeJson, DamagedEvents) {
  auto complain = [](const std::function<void(Json&)>& edit, const std::string& problem) {
    EXPECT_THAT(failure(edited(edit)), HasSubstr(problem));
  };
  complain([](Json& f) { f["traceEvents"] = 3; }, "\"traceEvents\" that is not a list");
  complain([](Json& f) { f["traceEvents"].push_back(3); }, "event 19 is not an object");
  complain([](Json& f) { f["traceEvents"].push_back(Json::object()); }, "event 19 has no \"ph\"");
  complain([](Json& f) { find(f, "operator")["ts"] = "soon"; },
           "has a \"ts\" that is not a number");
  complain([](Json& f) { find(f, "operator")["ts"] = 1e300; }, "has a \"ts\" that is out of range");
  complain([](Json& f) { find(f, "operator")["dur"] = -5; }, "ends before it begins");
  complain([](Json& f) { find(f, "operator")["tid"] = 77; },
           "is on a track without a \"thread_name\"");
  complain([](Json& f) { find(f, "operator").erase("args"); }, "has no \"args\"");
  complain([](Json& f) { find(f, "operator")["args"]["call"] = 1e10; },
           "has a \"call\" that is not an integer");
  complain([](Json& f) { find(f, "operator")["args"]["call"] = 10000000000; },
           "\"call\" that is out of range");
  complain([](Json& f) { find(f, "operator")["args"]["source"] = "x"; },
           "\"source\" is not an object");
  complain([](Json& f) { find(f, "wait")["args"]["from_stream"] = 9; },
           "is on stream 9, the timeline has 3");
  complain([](Json& f) { find(f, "wait")["args"]["from_stream"] = -1; },
           "\"from_stream\" that is out of range");
  complain([](Json& f) { f["traceEvents"][2]["args"]["stream"] = 5; },
           "has a \"stream\" out of order");
}

TEST(ReadChromeJson, EventsInAnyOrder) {
  std::string reversed = edited([](Json& file) {
    Json& list = file["traceEvents"];
    std::stable_partition(list.begin(), list.end(),
                          [](const Json& event) { return event["ph"] != "M"; });
  });
  EXPECT_EQ(read_chrome_json(reversed), two_streams());
}

}  // namespace
}  // namespace anabranch::trace
