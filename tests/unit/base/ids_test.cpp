#include "anabranch/base/ids.h"

#include <gtest/gtest.h>

#include <type_traits>
#include <unordered_set>

namespace anabranch {
namespace {

static_assert(!std::is_convertible_v<StreamId, EventId>);
static_assert(!std::is_convertible_v<size_t, NodeId>);

TEST(Id, DefaultIsInvalidAndIdsCompareByIndex) {
  EXPECT_FALSE(NodeId{}.valid());
  EXPECT_TRUE(NodeId{0}.valid());
  EXPECT_LT(NodeId{1}, NodeId{2});
  EXPECT_EQ(kDefaultStream.index(), 0u);
  std::unordered_set<ValueId> set{ValueId{1}, ValueId{1}, ValueId{2}};
  EXPECT_EQ(set.size(), 2u);
}

}  // namespace
}  // namespace anabranch
