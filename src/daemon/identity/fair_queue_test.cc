#include "daemon/identity/fair_queue.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

TEST(FairQueue, ServesEachAddressInTurn) {
  FairQueue<int> line(10);
  for (const int i : {1, 2, 3})
    EXPECT_FALSE(line.push("stranger", i));
  EXPECT_FALSE(line.push("ann", 10));
  EXPECT_EQ(line.pop(), 10);
  EXPECT_EQ(line.pop(), 1);
  EXPECT_FALSE(line.push("ann", 11));
  EXPECT_EQ(line.pop(), 11);
  EXPECT_EQ(line.pop(), 2);
  EXPECT_EQ(line.pop(), 3);
  EXPECT_TRUE(line.empty());
}

TEST(FairQueue, WhoHasMostGivesWay) {
  FairQueue<int> line(4);
  for (const int i : {1, 2, 3, 4})
    EXPECT_FALSE(line.push("stranger", i));
  EXPECT_EQ(line.push("stranger", 5), 5) << "its own newest";
  EXPECT_EQ(line.push("ann", 10), 4);
  EXPECT_EQ(line.push("bob", 20), 3);
  EXPECT_EQ(line.push("ann", 11), 11) << "two each would be no fairer";
  EXPECT_EQ(line.size(), 4U);
}

TEST(FairQueue, ALineOfOnesIsFull) {
  FairQueue<int> line(2);
  EXPECT_FALSE(line.push("a", 1));
  EXPECT_FALSE(line.push("b", 2));
  EXPECT_EQ(line.push("c", 3), 3);
}

}  // namespace
}  // namespace stint
