// The `anabranch` command from outside: what it prints and its exit status.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

struct Result {
  int status = 0;
  std::string output;  // both streams
};

class CommandLine : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "anabranch-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return name;
  }

  std::string read(const std::string& name) {
    std::ifstream file(folder_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  Result run(const std::string& arguments, const std::string& environment = "") {
    std::string command = fmt::format("cd '{}' && {} '{}' {} 2>&1", folder_.string(), environment,
                                      ANABRANCH_TOOL, arguments);
    Result result;
    FILE* pipe = popen(command.c_str(), "r");
    if (!pipe) return {-1, "popen failed"};
    char buffer[4096];
    while (size_t count = fread(buffer, 1, sizeof buffer, pipe))
      result.output.append(buffer, count);
    int status = pclose(pipe);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return result;
  }

  std::filesystem::path folder_;
};

// An operator on stream "1" reads x, then x is written on the default stream; `order` is the edge
// that keeps the write after the read.
std::string read_then_write(const std::string& order) {
  return R"(anabranch 1
graph "g" {
  stream 1 "1" priority 0 inner_parallel true
  %x = input : f32[8] @b0
  %r = aten.mul.Tensor(%x, 2) stream 1 {"_user_stream_label": "1", "_stream_label": "1"} : f32[8] @b1 at "m.py" 3 in "f"
  %w = aten.add_.Tensor(%x, 1) writes(%x) )" +
         order + R"( : f32[8] @b0 at "m.py" 4 in "f"
  return %r, %w
}
)";
}

TEST_F(CommandLine, InspectsGraphText) {
  write("g.ir", read_then_write(""));
  Result result = run("inspect g.ir");
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("g.ir: graph text"), HasSubstr("stream \"1\": 1 operators (1 Mul)"),
                    HasSubstr("default stream: 1 operators (1 Add)")));
  result = run("inspect --json g.ir");
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.output, HasSubstr("\"data_operators\": 1"));
}

// graph text => pbtxt => txt => graph text: streams, writes and lines arrive
TEST_F(CommandLine, ConvertsThroughEveryFormat) {
  write("g.ir", read_then_write("after(effect ^r)"));
  EXPECT_EQ(run("convert g.ir --to pbtxt -o g.pbtxt").status, 0);
  EXPECT_EQ(run("convert g.pbtxt --to txt -o g.txt").status, 0);
  Result result = run("convert g.txt --to ir");
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.output,
              HasSubstr("%Add = Add(%x) writes(%x) after(effect ^Mul) {\"_arg1\": 1} : f32[8] @b0 "
                        "at \"m.py\" 4 in \"f\""));
}

// an optimised dump must carry every order that is needed
TEST_F(CommandLine, VerifiesTheOrderThatADumpStates) {
  write("good.ir", read_then_write("after(effect ^r)"));
  write("bad.ir", read_then_write(""));
  for (std::string format : {"pbtxt", "txt"}) {
    run("convert good.ir -o good.dump --to " + format);
    run("convert bad.ir -o bad.dump --to " + format);
    Result good = run("verify good.dump");
    EXPECT_EQ(good.status, 0) << good.output;
    EXPECT_THAT(good.output, HasSubstr("the order that the dump states: correct"));
    Result bad = run("verify bad.dump");
    EXPECT_EQ(bad.status, 1);
    EXPECT_THAT(bad.output, AllOf(HasSubstr("not legal"), HasSubstr("error[race-war]"),
                                  HasSubstr("m.py:4 in f")));
  }
}

TEST_F(CommandLine, VerifiesAScheduleInTheFile) {
  std::string graph = read_then_write("after(effect ^r)");
  write("good.ir", graph + R"(
schedule {
  stream 0 "" priority 0 inner_parallel true { wait e0; launch ^w }
  stream 1 "1" priority 0 inner_parallel true { launch ^r; record e0 }
}
)");
  write("bad.ir", graph + R"(
schedule {
  stream 0 "" priority 0 inner_parallel true { launch ^w }
  stream 1 "1" priority 0 inner_parallel true { launch ^r }
}
)");
  write("broken.ir", graph + "\nschedule {\n  stream zero\n}\n");
  EXPECT_THAT(run("verify good.ir").output, HasSubstr("the schedule in the file: correct"));
  Result bad = run("verify bad.ir");
  EXPECT_EQ(bad.status, 1);
  EXPECT_THAT(bad.output, HasSubstr("error[race-war]"));
  EXPECT_THAT(run("verify broken.ir").output, HasSubstr("schedule text, line 11, column 10"));
}

TEST_F(CommandLine, Draws) {
  write("g.ir", read_then_write(""));
  EXPECT_THAT(run("draw g.ir").output, StartsWith("digraph"));
  EXPECT_EQ(run("draw g.ir -o g.dot").status, 0);
  EXPECT_THAT(read("g.dot"), StartsWith("digraph"));
  Result result = run("draw g.ir -o g.svg", "PATH=/nowhere");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output, HasSubstr("apt-get install graphviz"));
  EXPECT_THAT(run("draw g.ir -o picture").output, HasSubstr("no extension"));
}

TEST_F(CommandLine, ChoosesAmongGraphs) {
  write("two.txt",
        "graph { name: \"a\" op { name: \"x\" type: \"A\" } } graph { name: \"b\" op { name: \"y\" "
        "type: \"B\" } }");
  Result result = run("convert two.txt --to pbtxt");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("holds 2 graphs"), HasSubstr("--graph NUMBER"), HasSubstr("1 b")));
  EXPECT_THAT(run("convert two.txt --to pbtxt --graph 1").output, HasSubstr("name: \"y\""));
  EXPECT_EQ(run("convert two.txt --to pbtxt --graph 2").status, 1);
}

TEST_F(CommandLine, SaysWhatIsWrongWithAFile) {
  write("empty", "");
  write("json", "{\"a\": 1}");
  write("cut.txt", "op { name: \"a\" type: \"A\" }\nop { name: \"b\"");
  Result result = run("inspect nothing");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output, HasSubstr("cannot read nothing: No such file"));
  EXPECT_THAT(run("verify empty").output, HasSubstr("the file is empty"));
  EXPECT_THAT(run("verify json").output, HasSubstr("no graph dump"));
  EXPECT_THAT(run("inspect .").output, HasSubstr("is a folder"));
  result = run("verify cut.txt");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("error[truncated]: cut.txt: line 2"), HasSubstr("'b' is cut off")));
  EXPECT_EQ(run("frobnicate").status, 2);
  EXPECT_EQ(run("convert json --to xml").status, 2);
}

// every option after `run` belongs to Python
TEST_F(CommandLine, RunHandsOverToPython) {
  Result result = run("run --trace t.json s.py --help -x", "ANABRANCH_PYTHON=/bin/echo");
  EXPECT_EQ(result.output, "-m anabranch run --trace t.json s.py --help -x\n");
  result = run("run s.py", "ANABRANCH_PYTHON=/nowhere/python");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output, HasSubstr("set ANABRANCH_PYTHON"));
}

TEST_F(CommandLine, ShowsTimelines) {
  write("t.json", "not json");
  EXPECT_EQ(run("timeline t.json").status, 1);
  EXPECT_THAT(run("--version").output, StartsWith("anabranch "));
}

}  // namespace
