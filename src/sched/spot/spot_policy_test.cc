#include "sched/spot/spot_policy.h"

#include <gtest/gtest.h>

namespace stint::sched {
namespace {

// Ten hours of work within twelve, a changeover of twelve minutes, ticks of ten: the last tick begins at 42,600 s.
constexpr SpotTask kTask{.tick_s = 600, .work_s = 36'000, .deadline_s = 43'200, .changeover_s = 720};

SpotMoment moment(int64_t elapsed_s, int64_t work_left_s, SpotTake held, bool available) {
  return {.elapsed_s = elapsed_s, .work_left_s = work_left_s, .held = held, .spot_available = available};
}

TEST(SpotPolicy, GreedyWaitsUntilTwoChangeoversCannotBeSpared) {
  const GreedySpot greedy(kTask);
  EXPECT_EQ(greedy.choose(moment(0, 36'000, SpotTake::kIdle, false)), SpotTake::kIdle);
  EXPECT_EQ(greedy.choose(moment(0, 36'000, SpotTake::kIdle, true)), SpotTake::kSpot);
  // 42,600 − 4,800 − 36,000 = 1,800 to spare, 360 more than two changeovers; a tick later 1,200.
  EXPECT_EQ(greedy.choose(moment(4'800, 36'000, SpotTake::kIdle, true)), SpotTake::kSpot);
  EXPECT_EQ(greedy.choose(moment(5'400, 36'000, SpotTake::kIdle, true)), SpotTake::kOnDemand);
  EXPECT_EQ(greedy.choose(moment(5'400, 36'000, SpotTake::kIdle, false)), SpotTake::kOnDemand);
}

TEST(SpotPolicy, SpotThatRunsStaysWhileItLasts) {
  const GreedySpot greedy(kTask);
  EXPECT_EQ(greedy.choose(moment(5'400, 36'000, SpotTake::kSpot, true)), SpotTake::kSpot);
  EXPECT_EQ(greedy.choose(moment(6'600, 36'000, SpotTake::kSpot, true)), SpotTake::kSpot)
      << "0 to spare, but past its changeover";
  SpotMoment loading = moment(6'600, 36'000, SpotTake::kSpot, true);
  loading.changeover_left_s = 120;
  EXPECT_EQ(greedy.choose(loading), SpotTake::kOnDemand);
}

// The pace is 10/12: after 3,600 s it asks for 3,000 s of work, two changeovers later for 4,200 s.
TEST(SpotPolicy, UniformProgressKeepsThePace) {
  const UniformProgressSpot uniform(kTask);
  EXPECT_EQ(uniform.choose(moment(3'600, 33'000, SpotTake::kIdle, false)), SpotTake::kIdle);
  EXPECT_EQ(uniform.choose(moment(3'600, 33'001, SpotTake::kIdle, false)), SpotTake::kOnDemand);
  EXPECT_EQ(uniform.choose(moment(3'600, 33'001, SpotTake::kIdle, true)), SpotTake::kSpot);
  EXPECT_EQ(uniform.choose(moment(3'600, 31'000, SpotTake::kOnDemand, false)), SpotTake::kOnDemand) << "stays through a gap";
  EXPECT_EQ(uniform.choose(moment(3'600, 31'800, SpotTake::kOnDemand, true)), SpotTake::kOnDemand);
  EXPECT_EQ(uniform.choose(moment(3'600, 31'799, SpotTake::kOnDemand, true)), SpotTake::kSpot);
}

TEST(SpotPolicy, FreeChangeoversTakeSpotToTheEnd) {
  const SpotTask task{.tick_s = 600, .work_s = 1'200, .deadline_s = 1'200, .changeover_s = 0};
  EXPECT_EQ(GreedySpot(task).choose(moment(0, 1'200, SpotTake::kOnDemand, true)), SpotTake::kSpot);
  EXPECT_EQ(GreedySpot(task).choose(moment(0, 1'200, SpotTake::kOnDemand, false)), SpotTake::kOnDemand);
}

TEST(SpotPolicy, RefusesTasksThatNothingCanFinish) {
  EXPECT_TRUE(kTask.check().ok());
  EXPECT_TRUE((SpotTask{.tick_s = 600, .work_s = 600, .deadline_s = 1'800, .changeover_s = 1'200}).check().ok());
  EXPECT_FALSE((SpotTask{.tick_s = 600, .work_s = 601, .deadline_s = 2'399, .changeover_s = 1'200}).check().ok());
  EXPECT_FALSE((SpotTask{.tick_s = 0, .work_s = 600, .deadline_s = 600, .changeover_s = 0}).check().ok());
  EXPECT_FALSE((SpotTask{.tick_s = 600, .work_s = 600, .deadline_s = 6'000, .changeover_s = -1}).check().ok());
}

}  // namespace
}  // namespace stint::sched
