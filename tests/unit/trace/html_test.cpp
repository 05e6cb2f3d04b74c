#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "anabranch/trace/page.h"
#include "anabranch/trace/trace.h"
#include "sample.h"

namespace anabranch::trace {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kDataTag = "<script type=\"application/json\" id=\"data\">";

/// The text that the browser sees in the data element: up to the first end tag.
std::string data_text(const std::string& page) {
  size_t begin = page.find(kDataTag) + kDataTag.size();
  return page.substr(begin, page.find("</script", begin) - begin);
}

size_t count(const std::string& text, std::string_view part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Html, FetchesNothing) {
  std::string page = html(two_streams());
  EXPECT_THAT(page, Not(HasSubstr("http:")));
  EXPECT_THAT(page, Not(HasSubstr("https:")));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
  EXPECT_THAT(page, Not(HasSubstr("href")));
  EXPECT_THAT(page, Not(HasSubstr("url(")));
  EXPECT_THAT(page, Not(HasSubstr("@import")));
  EXPECT_THAT(page, HasSubstr("default-src 'none'")) << "the browser enforces it";
}

TEST(Html, NoPlaceholderIsLeft) {
  EXPECT_EQ(count(std::string(kTimelinePage), "{{title}}"), 1u);
  EXPECT_EQ(count(std::string(kTimelinePage), "{{data}}"), 1u);
  std::string page = html(two_streams());
  EXPECT_THAT(page, Not(HasSubstr("{{")));
  EXPECT_THAT(page, HasSubstr("<title>two_streams</title>"));
}

TEST(Html, DataHasTheTimeline) {
  Json data = Json::parse(data_text(html(two_streams())));
  const Json& spans = data["spans"];
  EXPECT_EQ(spans["stream"], Json({0, 1, 0, 2}));
  EXPECT_EQ(spans["begin"], Json({0, 1010, 1010, 101010}));
  EXPECT_EQ(data["strings"][spans["name"][3].get<size_t>()], "add_1");
  EXPECT_EQ(data["strings"][spans["source"][0].get<size_t>()],
            "model in work.py:12 in Model.forward");
  EXPECT_EQ(data["arrows"]["recorded"], Json({1001, 101001}));
  EXPECT_EQ(data["streams"][1]["label"], "stream 1");
  EXPECT_EQ(data["streams"][1]["priority"], -1);
  EXPECT_EQ(data["all"]["busy"], Json({100990, 101990, 990}));
  EXPECT_EQ(data["calls"].size(), 1u);
  for (const auto& [key, column] : spans.items()) EXPECT_EQ(column.size(), 4u) << key;
  for (const auto& [key, column] : data["arrows"].items()) EXPECT_EQ(column.size(), 2u) << key;
}

TEST(Html, NamesCannotEndTheScript) {
  const std::string evil = "</script><script>alert(1)</script><!-- <b> & \" ' {{data}}";
  Timeline timeline = two_streams();
  timeline.title = evil;
  timeline.streams[1].label = evil;
  timeline.spans[0].name = evil;
  timeline.spans[0].source = {evil, 3, evil};
  timeline.arrows[0].event = evil;
  std::string page = html(timeline);
  EXPECT_EQ(count(page, "<script"), count(html(two_streams()), "<script"));
  EXPECT_EQ(count(page, "</script"), count(html(two_streams()), "</script"));
  EXPECT_THAT(page, HasSubstr("<title>&lt;/script&gt;"));
  Json data = Json::parse(data_text(page));
  EXPECT_EQ(data["title"], evil);
  EXPECT_EQ(data["strings"][data["spans"]["name"][0].get<size_t>()], evil);
}

TEST(Html, NeverPutsDataIntoMarkup) {
  EXPECT_THAT(std::string(kTimelinePage), Not(HasSubstr("innerHTML")));
  EXPECT_THAT(std::string(kTimelinePage), Not(HasSubstr("document.write")));
}

TEST(Html, EqualTextsAreStoredOnce) {
  Timeline timeline = make_streams({});
  for (int i = 0; i < 1000; ++i) {
    timeline.spans.push_back(make_span(0, 10 * i, 10 * i + 9, "a_rather_long_operator_name"));
  }
  EXPECT_EQ(count(html(timeline), "a_rather_long_operator_name"), 1u);
}

TEST(Html, EmptyTimeline) {
  Json data = Json::parse(data_text(html(make_streams({}))));
  EXPECT_EQ(data["spans"]["stream"].size(), 0u);
  EXPECT_EQ(data["calls"].size(), 0u);
}

}  // namespace
}  // namespace anabranch::trace
