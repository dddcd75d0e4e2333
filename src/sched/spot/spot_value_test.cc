#include "sched/spot/spot_value.h"

#include <gtest/gtest.h>

namespace stint::sched {
namespace {

constexpr SpellWeights kShort = {0, 0, 1};
constexpr SpellWeights kLong = {1, 0, 0};
constexpr SpellWeights kAny = {1, 1, 1};

class SpotValueTest : public testing::Test {
 protected:
  const SpotTask task_{.tick_s = 600, .work_s = 48 * 3600, .deadline_s = 60 * 3600, .changeover_s = 720};
  const SpotValue value_{task_, 0.318};
  float wait(int64_t elapsed_h, int64_t slack_s, int32_t age, const SpellWeights& up, const SpellWeights& down) const {
    return value_.margin(SpotValue::Margin::kWait, elapsed_h * 3600, slack_s, age_class(age), up, down);
  }
};

TEST_F(SpotValueTest, WaitingIsForThoseWithSlack) {
  EXPECT_GT(wait(0, 12 * 3600, 1, kAny, kAny), 0) << "all slack is there and gaps may be short";
  EXPECT_LT(wait(12, 3600, 1, kAny, kAny), 0) << "one hour left of it and 48 of work";
  EXPECT_GT(wait(58, 3600, 1, kAny, kAny), 0) << "an hour of work left: what else is slack for";
}

TEST_F(SpotValueTest, LongSpellsAreWaitedForAndOldGapsAreNot) {
  const int64_t slack_s = 4 * 3600;
  EXPECT_GT(wait(20, slack_s, 1, kLong, kShort), wait(20, slack_s, 1, kShort, kShort));
  EXPECT_GT(wait(20, slack_s, 1, kAny, kAny), wait(20, slack_s, 40, kAny, kAny)) << "an old gap lasts";
}

TEST_F(SpotValueTest, ChangingIsForSpellsThatWillLast) {
  const auto change = [&](int64_t slack_s, int32_t age, const SpellWeights& up) {
    return value_.margin(SpotValue::Margin::kChange, 20 * 3600, slack_s, age_class(age), up, kAny);
  };
  EXPECT_GT(change(6 * 3600, 30, kLong), 0);
  EXPECT_GT(change(6 * 3600, 30, kLong), change(6 * 3600, 1, kShort));
  EXPECT_LT(change(720, 30, kLong), 0) << "no slack for a changeover back";
}

// Without a changeover spot costs less in every tick and binds nothing.
TEST(SpotValueFreeChangeover, SpotIsAlwaysWorthChangingTo) {
  const SpotTask task{.tick_s = 600, .work_s = 10 * 3600, .deadline_s = 12 * 3600, .changeover_s = 0};
  const SpotValue value(task, 0.5);
  for (const int64_t elapsed_s : {0, 3600, 20'000})
    for (const int32_t age : {1, 4, 30})
      EXPECT_GT(value.margin(SpotValue::Margin::kChange, elapsed_s, 1800, age_class(age), kAny, kAny), 0);
}

}  // namespace
}  // namespace stint::sched
