#include "anabranch/base/diagnostic.h"

#include <gtest/gtest.h>

namespace anabranch {
namespace {

TEST(SourceLocation, Text) {
  EXPECT_EQ(to_string(SourceLocation{"m.py", 12, "forward"}), "m.py:12 in forward");
  EXPECT_EQ(to_string(SourceLocation{"m.py", 12, ""}), "m.py:12");
  EXPECT_EQ(to_string(SourceLocation{}), "unknown source line");
  EXPECT_FALSE(SourceLocation{}.known());
}

TEST(Diagnostic, SaysWhatWhereAndTheWayOut) {
  Diagnostic finding{Severity::Warning, "rule", "message", "do this", {{"m.py", 1, ""}, {}}};
  EXPECT_EQ(to_string(finding), "warning[rule]: message\n  at m.py:1\n  fix: do this");
  EXPECT_EQ(to_string(Diagnostic{Severity::Note, "r", "m", "", {}}), "note[r]: m");
}

TEST(Error, CarriesAllFindings) {
  Error one("rule", "message", "fix");
  EXPECT_STREQ(one.what(), "error[rule]: message\n  fix: fix");
  Error two(std::vector<Diagnostic>{{Severity::Error, "a", "first", "", {}},
                                    {Severity::Note, "b", "second", "", {}}});
  EXPECT_STREQ(two.what(), "error[a]: first\nnote[b]: second");
  EXPECT_EQ(two.diagnostics().size(), 2u);
}

}  // namespace
}  // namespace anabranch
