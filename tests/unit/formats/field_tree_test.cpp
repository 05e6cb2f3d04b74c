#include "anabranch/formats/field_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace anabranch::formats {
namespace {

/// The text as protobuf would print it, or the problem.
std::string reprint(std::string_view text) {
  FieldTree tree(text);
  if (tree.problem()) return tree.problem()->rule + ": " + tree.problem()->message;
  return tree.print(0, tree.size());
}

// `a: 1 b < c: X >` => one field a line, braces, two spaces a level
TEST(FieldTree, ReadsScalarsAndMessages) {
  EXPECT_EQ(reprint("a: 1 b < c: X > d: { e: -2.5f }"),
            "a: 1\nb {\n  c: X\n}\nd {\n  e: -2.5f\n}\n");
  EXPECT_EQ(reprint("a{}b:{c{}}"), "a {\n}\nb {\n  c {\n  }\n}\n");
}

// separators and comments => nothing
TEST(FieldTree, SkipsSeparatorsAndComments) {
  EXPECT_EQ(reprint("# head\na: 1; b: 2,\n# tail { \" \nc: 3"), "a: 1\nb: 2\nc: 3\n");
}

// `a: [1, 2] m: [{b: 1}, <b: 2>]` => one field per item
TEST(FieldTree, SpreadsLists) {
  EXPECT_EQ(reprint("a: [1, 2] m [] n: []"), "syntax: line 1: expected ':' or '{' after 'm'");
  EXPECT_EQ(reprint("a: [1, -2, \"x\"] e: [] m: [{b: 1}, <b: 2>]"),
            "a: 1\na: -2\na: \"x\"\nm {\n  b: 1\n}\nm {\n  b: 2\n}\n");
}

// names that are extensions, types of Any, or numbers of unknown fields
TEST(FieldTree, ReadsUnusualNames) {
  EXPECT_EQ(reprint("[my.ext]: 1 any { [type.googleapis.com/x.Y] { 12: 0x10 } }"),
            "[my.ext]: 1\nany {\n  [type.googleapis.com/x.Y] {\n    12: 0x10\n  }\n}\n");
}

std::string only_string(std::string_view text) {
  FieldTree tree(text);
  EXPECT_FALSE(tree.problem()) << text;
  EXPECT_EQ(tree.size(), 1u) << text;
  return tree.size() == 1 ? std::string(tree[0].text) : "";
}

TEST(FieldTree, DecodesEscapes) {
  EXPECT_EQ(only_string(R"(s: "a\n\t\"\'\\b")"), "a\n\t\"'\\b");
  EXPECT_EQ(only_string(R"(s: 'x\x41\101\7z')"), "xAA\az");
  EXPECT_EQ(only_string(R"(s: "\346\265\201")"), "流");
  EXPECT_EQ(only_string(R"(s: "\u6d41\U0001F600")"), "流\xf0\x9f\x98\x80");
  EXPECT_EQ(only_string("s: \"流\""), "流");
  EXPECT_EQ(only_string(R"(s: "\000b")"), std::string("\0b", 2));
}

// `"a" 'b'` newline `"c"` => abc
TEST(FieldTree, JoinsAdjacentStrings) {
  EXPECT_EQ(only_string("s: \"a\" 'b'\n  \"c\\n\""), "abc\n");
  EXPECT_EQ(reprint("s: \"a\" t: \"b\""), "s: \"a\"\nt: \"b\"\n");
}

// a writer that does not escape names => the quote inside the name stays
TEST(FieldTree, ToleratesUnescapedQuotes) {
  EXPECT_EQ(only_string("name: \"a\"b\"\n"), "a\"b");
  EXPECT_EQ(only_string("name: \"layer \"q\" of 3\"\n"), "layer \"q\" of 3");
  EXPECT_EQ(only_string("name: \"C:\\path\\q\""), "C:\\path\\q");
  EXPECT_EQ(reprint("node { name: \"a\"b\" }\nnode { name: \"c\" op: \"D\" }"),
            "node {\n  name: \"a\\\"b\"\n}\nnode {\n  name: \"c\"\n  op: \"D\"\n}\n");
}

TEST(FieldTree, SaysWhereTextEnds) {
  EXPECT_EQ(reprint("a: 1\nb {\n  c: 2\n"),
            "truncated: line 4: the text ends inside 'b', which begins at line 2");
  EXPECT_EQ(reprint("a {\n  s: \"half"),
            "truncated: line 2: the text ends in the string that begins at line 2");
  EXPECT_EQ(reprint("a {\n  n: 12"), "truncated: line 2: the text ends in the value of 'n'");
  EXPECT_EQ(reprint("a {\n  n:"), "truncated: line 2: the text ends after 'n'");
  EXPECT_EQ(reprint("a: [1,"), "truncated: line 1: the text ends inside the list 'a'");
}

TEST(FieldTree, SaysWhereTextIsForeign) {
  EXPECT_EQ(reprint("a: 1\n}"), "syntax: line 2: '}' closes nothing");
  EXPECT_EQ(reprint("{\"json\": 1}"), "syntax: line 1: expected a field's name, found \"{\"");
  EXPECT_EQ(reprint("hello world"), "syntax: line 1: expected ':' or '{' after 'hello'");
  EXPECT_EQ(reprint("a: = 3"), "syntax: line 1: 'a' has no value that can be read");
  EXPECT_EQ(reprint("[open"), "syntax: line 1: '[' is not closed");
}

// what was read before the problem stays, with open messages marked
TEST(FieldTree, KeepsWhatWasRead) {
  FieldTree tree("a { b: 1 c { d: 2 } e { f:");
  EXPECT_TRUE(tree.problem());
  EXPECT_EQ(tree.size(), 5u);
  EXPECT_FALSE(tree[0].complete);
  EXPECT_TRUE(tree[2].complete);
  EXPECT_EQ(tree[0].end, 5u);
  EXPECT_FALSE(tree[4].complete);
}

TEST(FieldTree, KnowsLines) {
  FieldTree tree("a: 1\n\nb {\n  c: \"x\"\n    \"y\"\n}\nd: 2");
  EXPECT_EQ(tree[0].line, 1);
  EXPECT_EQ(tree[1].line, 3);
  EXPECT_EQ(tree[2].line, 4);
  EXPECT_EQ(tree[3].line, 7);
}

// a million levels deep => no stack overflow
TEST(FieldTree, NestsWithoutRecursion) {
  constexpr size_t kDepth = 1'000'000;
  std::string text;
  for (size_t i = 0; i < kDepth; ++i) text += "a{";
  FieldTree open(text);
  EXPECT_EQ(open.size(), kDepth);
  EXPECT_EQ(open.problem()->rule, "truncated");
  FieldTree closed(text + std::string(kDepth, '}'));
  EXPECT_FALSE(closed.problem());
  EXPECT_EQ(closed[0].end, kDepth);
}

TEST(FieldTree, ParsesNumbers) {
  EXPECT_EQ(parse_integer("-9223372036854775808"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(parse_integer("9223372036854775808"), std::nullopt);
  EXPECT_EQ(parse_integer("0x1F"), 31);
  EXPECT_EQ(parse_integer("017"), 15);
  EXPECT_EQ(parse_integer("0"), 0);
  EXPECT_EQ(parse_integer("-"), std::nullopt);
  EXPECT_EQ(parse_integer("1.5"), std::nullopt);
  EXPECT_EQ(parse_real("1.5f"), 1.5);
  EXPECT_EQ(parse_real("-inf"), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(parse_real("1e400"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(parse_real("1e-400"), 0.0);
  EXPECT_EQ(parse_real("DT_FLOAT"), std::nullopt);
}

}  // namespace
}  // namespace anabranch::formats
