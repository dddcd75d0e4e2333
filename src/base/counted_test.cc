#include "base/counted.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

TEST(Counted, OneStandsAlone) {
  EXPECT_EQ(counted(1, "GPU"), "1 GPU");
  EXPECT_EQ(counted(0, "job"), "0 jobs");
  EXPECT_EQ(counted(uint64_t{2}, "bill line"), "2 bill lines");
}

TEST(Counted, TakesAVerbAlong) {
  EXPECT_EQ(counted(1, "machine has", "machines have"), "1 machine has");
  EXPECT_EQ(counted(2, "machine has", "machines have"), "2 machines have");
}

TEST(Counted, FormsThePlural) {
  EXPECT_EQ(counted(3, "policy"), "3 policies");
  EXPECT_EQ(counted(3, "day"), "3 days");
  EXPECT_EQ(counted(2, "batch"), "2 batches");
  EXPECT_EQ(counted(2, "class"), "2 classes");
}

}  // namespace
}  // namespace stint
