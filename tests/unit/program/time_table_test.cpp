#include "anabranch/program/time_table.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "anabranch/ir/text.h"

namespace anabranch {
namespace {

namespace fs = std::filesystem;

class TimeTableFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::path(testing::TempDir()) /
        (std::string("times_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  /// A path of its own for each, so that the process has not read it yet.
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  fs::path folder_;
};

Graph graph_of(const std::string& body) {
  return parse_graph("anabranch 1\ngraph \"g\" {\n" + body + "\n}\n");
}

TEST(TimeKey, NamesAndPlacesInMemoryDoNotCount) {
  Graph a = graph_of(
      "%x = input : f32[4,8] @b0\n%y = aten.sum.dim_IntList(%x, [1], keepdim=true) : f32[4,1] "
      "@b1\nreturn %y");
  Graph b = graph_of(
      "%u = input : f32[2] @b0\n%v = input : f32[4,8]+16 @b1\n"
      "%w = aten.sum.dim_IntList(%v, [1], keepdim=true) : f32[4,1] @b2\nreturn %w");
  EXPECT_EQ(time_key(a, NodeId(1)), time_key(b, NodeId(2)));
}

TEST(TimeKey, ShapesStridesTypesAndLiteralsCount) {
  auto key = [](const char* type, const char* literal) {
    Graph graph = graph_of(std::string("%x = input : ") + type + " @b0\n%y = aten.add.Tensor(%x, " +
                           literal + ") : f32[4,8] @b1\nreturn %y");
    return time_key(graph, NodeId(1));
  };
  std::string first = key("f32[4,8]", "1");
  EXPECT_NE(first, key("f32[4,9]", "1"));
  EXPECT_NE(first, key("f32[4,8](1,4)", "1"));
  EXPECT_NE(first, key("f16[4,8]", "1"));
  EXPECT_NE(first, key("f32[4,8]", "2"));
}

TEST_F(TimeTableFile, WhatIsAddedIsFoundAndWritten) {
  TimeTable::of(path("a")).add({{"mm f32[4]", {100, 60, 50}}});
  std::optional<OperatorTime> found = TimeTable::of(path("a")).find("mm f32[4]");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->split, 50);
  EXPECT_FALSE(TimeTable::of(path("a")).find("mm f32[5]"));
  // another process reads the file: here, a copy of it
  fs::copy(path("a"), path("b"));
  found = TimeTable::of(path("b")).find("mm f32[4]");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->one, 100);
  EXPECT_EQ(found->all, 60);
}

TEST_F(TimeTableFile, WhatOthersWroteMeanwhileStays) {
  TimeTable& mine = TimeTable::of(path("a"));
  EXPECT_FALSE(mine.find("theirs"));
  TimeTable::of(path("b")).add({{"theirs", {1, 2, 0}}});
  fs::rename(path("b"), path("a"));
  mine.add({{"mine", {3, 4, 0}}});
  EXPECT_TRUE(mine.find("theirs"));
  std::ifstream file(path("a"));
  std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_NE(text.find("theirs"), text.npos);
  EXPECT_NE(text.find("mine"), text.npos);
}

TEST_F(TimeTableFile, AFileThatIsNoneOfOursIsReplaced) {
  fs::create_directories(folder_);
  std::ofstream(path("a")) << "something else\nmm\t1 2 3\n";
  EXPECT_FALSE(TimeTable::of(path("a")).find("mm"));
  std::ofstream(path("b")) << "anabranch operator times 1\nmm\t1 x\nadd\t-1 2 3\nno tab\nok\t1 2 3";
  EXPECT_FALSE(TimeTable::of(path("b")).find("mm"));
  EXPECT_FALSE(TimeTable::of(path("b")).find("add"));
  EXPECT_TRUE(TimeTable::of(path("b")).find("ok"));
}

TEST_F(TimeTableFile, AFolderThatCannotBeMadeCostsNothing) {
  fs::create_directories(folder_);
  std::ofstream(path("file")) << "x";
  TimeTable& table = TimeTable::of(path("file") + "/below/a");
  table.add({{"mm", {1, 2, 3}}});
  EXPECT_TRUE(table.find("mm"));
}

TEST_F(TimeTableFile, TheChildOfAForkCanUseIt) {
  TimeTable& table = TimeTable::of(path("a"));
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) table.add({{"mm", {1, 2, 3}}});
  });
  for (int i = 0; i < 30; ++i) {
    pid_t child = fork();
    if (child == 0) {
      alarm(20);  // ends a child that hangs
      TimeTable::of("").find("x");
      table.add({{"add", {1, 2, 3}}});
      _exit(table.find("add") ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  stop = true;
  busy.join();
}

}  // namespace
}  // namespace anabranch
