#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "anabranch/trace/labels.h"
#include "anabranch/trace/measure.h"
#include "anabranch/trace/page.h"
#include "anabranch/trace/rows.h"
#include "anabranch/trace/trace.h"

namespace anabranch::trace {
namespace {

using Json = nlohmann::json;

std::string escape_html(const std::string& text) {
  std::string escaped;
  for (char c : text) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

/// JSON that may stand inside a script element: without '<' nothing can end the element or start a
/// comment.
std::string script_json(const Json& json) {
  std::string safe;
  for (char c : json.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

/// Shapes, types and source lines repeat from operator to operator and call to call: each text is
/// stored once.
class StringTable {
 public:
  size_t index(const std::string& text) {
    auto [found, added] = indices_.emplace(text, strings_.size());
    if (added) strings_.push_back(text);
    return found->second;
  }
  Json take() { return std::move(strings_); }

 private:
  std::unordered_map<std::string, size_t> indices_;
  std::vector<std::string> strings_;
};

// Columns instead of objects: a third of the size, and the page reads them into typed arrays.
Json span_columns(const Timeline& timeline, const Rows& rows, StringTable& strings) {
  Json columns = {
      {"stream", Json::array()}, {"row", rows.span},          {"begin", Json::array()},
      {"end", Json::array()},    {"name", Json::array()},     {"type", Json::array()},
      {"op", Json::array()},     {"operands", Json::array()}, {"results", Json::array()},
      {"source", Json::array()}, {"threads", Json::array()},  {"call", Json::array()},
      {"program", Json::array()}};
  for (const TimelineSpan& span : timeline.spans) {
    columns["stream"].push_back(span.stream);
    columns["begin"].push_back(span.begin);
    columns["end"].push_back(span.end);
    columns["name"].push_back(strings.index(span_label(span)));
    columns["type"].push_back(strings.index(span.type));
    columns["op"].push_back(strings.index(span.op));
    columns["operands"].push_back(strings.index(span.operands));
    columns["results"].push_back(strings.index(span.results));
    columns["source"].push_back(strings.index(span.source.known() ? to_string(span.source) : ""));
    columns["threads"].push_back(span.threads);
    columns["call"].push_back(span.call);
    columns["program"].push_back(strings.index(span.program));
  }
  return columns;
}

Json arrow_columns(const Timeline& timeline, const Rows& rows, StringTable& strings) {
  Json columns = {
      {"from", Json::array()},     {"to", Json::array()},    {"row", rows.arrow},
      {"recorded", Json::array()}, {"begin", Json::array()}, {"end", Json::array()},
      {"event", Json::array()},    {"call", Json::array()},  {"program", Json::array()}};
  std::string only = timeline.spans.empty() ? std::string() : timeline.spans.front().program;
  for (const TimelineArrow& arrow : timeline.arrows) {
    columns["from"].push_back(arrow.from_stream);
    columns["to"].push_back(arrow.to_stream);
    columns["recorded"].push_back(arrow.recorded);
    columns["begin"].push_back(arrow.waited_from);
    columns["end"].push_back(arrow.resumed);
    columns["event"].push_back(strings.index(arrow.event));
    columns["call"].push_back(arrow.call);
    columns["program"].push_back(strings.index(arrow.program.empty() ? only : arrow.program));
  }
  return columns;
}

/// Pairs that never overlap are left out; the page knows from the busy times which they are.
Json measures_json(const Measures& measures) {
  Json json = {{"begin", measures.begin}, {"end", measures.end},      {"operators", Json::array()},
               {"busy", Json::array()},   {"waiting", Json::array()}, {"overlaps", Json::array()}};
  for (const StreamMeasure& stream : measures.streams) {
    json["operators"].push_back(stream.operators);
    json["busy"].push_back(stream.busy);
    json["waiting"].push_back(stream.waiting);
  }
  for (const PairMeasure& pair : measures.pairs) {
    if (pair.overlap > 0) json["overlaps"].push_back({pair.first, pair.second, pair.overlap});
  }
  return json;
}

Json page_data(const Timeline& timeline) {
  Rows rows = assign_rows(timeline);
  StringTable strings;
  Json data = {
      {"title", timeline.title}, {"predicted", timeline.predicted}, {"streams", Json::array()}};
  for (size_t i = 0; i < timeline.streams.size(); ++i) {
    data["streams"].push_back({{"label", short_stream_label(timeline.streams[i])},
                               {"priority", timeline.streams[i].priority},
                               {"rows", rows.stream[i]}});
  }
  data["spans"] = span_columns(timeline, rows, strings);
  data["arrows"] = arrow_columns(timeline, rows, strings);
  data["all"] = measures_json(measure(timeline));
  data["calls"] = Json::array();
  for (const CallMeasures& call : measure_calls(timeline)) {
    Json json = measures_json(call.measures);
    json["program"] = strings.index(call.program);
    json["call"] = call.call;
    data["calls"].push_back(std::move(json));
  }
  data["strings"] = strings.take();
  return data;
}

}  // namespace

std::string html(const Timeline& timeline) {
  std::string page;
  std::string_view rest = kTimelinePage;
  auto fill = [&](std::string_view placeholder, const std::string& text) {
    size_t position = rest.find(placeholder);
    page += rest.substr(0, position);
    page += text;
    rest.remove_prefix(position + placeholder.size());
  };
  fill("{{title}}", escape_html(timeline.title.empty() ? "timeline" : timeline.title));
  fill("{{data}}", script_json(page_data(timeline)));
  page += rest;
  return page;
}

}  // namespace anabranch::trace
