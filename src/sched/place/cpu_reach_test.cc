#include "sched/place/cpu_reach.h"

#include <gtest/gtest.h>

namespace stint::sched {
namespace {

// Half of the GPU is asked for with 4 CPU each, half with 12: 8 on the mean.
const std::vector<ShapeCount> kMix = {{{.cpu_milli = 12'000, .gpus = 1}, 5}, {{.cpu_milli = 4'000, .gpus = 1}, 5}};

TEST(CpuReach, EnoughCpuFeedsEverything) {
  const CpuReach reach(kMix);
  EXPECT_EQ(reach.worth(0, 64'000, 8'000), 8'000);
  EXPECT_EQ(reach.worth(0, 640'000, 8'000), 8'000);
}

TEST(CpuReach, LittleCpuGoesToThoseWhoNeedLittle) {
  const CpuReach reach(kMix);
  EXPECT_EQ(reach.worth(0, 16'000, 8'000), 4'000);  // all who need 4 a GPU
  EXPECT_EQ(reach.worth(0, 8'000, 8'000), 2'000);   // half of them
  EXPECT_EQ(reach.worth(0, 40'000, 8'000), 6'000);  // and half of those who need 12
  EXPECT_EQ(reach.worth(0, 0, 8'000), 0);
}

TEST(CpuReach, CpuIsWorthMoreWhereItIsScarce) {
  const CpuReach reach(kMix);
  int64_t last = 8'000;
  for (int64_t cpu = 0; cpu <= 80'000; cpu += 4'000) {
    const int64_t more = reach.worth(0, cpu + 4'000, 8'000) - reach.worth(0, cpu, 8'000);
    EXPECT_LE(more, last + 1) << cpu;  // concave, but for rounding
    last = more;
  }
}

TEST(CpuReach, WorkForAnotherModelDoesNotCount) {
  const std::vector<ShapeCount> mix = {{{.cpu_milli = 4'000, .gpus = 1, .models = 1}, 1}, {{.cpu_milli = 12'000, .gpus = 1}, 1}};
  const CpuReach reach(mix);
  EXPECT_EQ(reach.worth(0, 4'000, 2'000), 1'000);
  EXPECT_EQ(reach.worth(1, 12'000, 2'000), 1'000);
  EXPECT_EQ(reach.worth(5, 12'000, 2'000), 1'000);
}

TEST(CpuReach, WithoutAMixAllOfItCounts) {
  EXPECT_EQ(CpuReach().worth(0, 0, 3'000), 3'000);
  EXPECT_EQ(CpuReach(kMix).worth(-1, 64'000, 0), 0);
}

TEST(CpuReach, WorkWithoutCpuIsFedForNothing) {
  const std::vector<ShapeCount> mix = {{{.cpu_milli = 0, .milli = 500}, 2}, {{.cpu_milli = 6'000, .gpus = 1}, 1}};
  EXPECT_EQ(CpuReach(mix).worth(0, 0, 4'000), 2'000);
}

}  // namespace
}  // namespace stint::sched
