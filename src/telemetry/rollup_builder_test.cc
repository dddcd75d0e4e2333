#include "telemetry/rollup_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace stint {
namespace {

constexpr int64_t kHour0 = 480'000;
Instant at(int64_t minute, int64_t second = 0) {
  return Instant::from_hour_index(kHour0) + Duration::seconds(minute * 60 + second);
}

struct Emitted {
  uint32_t series;
  int64_t hour;
  Rollup rollup;
};

class RollupBuilderTest : public testing::Test {
 protected:
  RollupBuilderTest() {
    builder.declare(SeriesId(0), Metric::kUtilization);
    builder.declare(SeriesId(1), Metric::kPower);
  }
  void add(uint32_t series, std::vector<Sample> samples) { builder.add(SeriesId(series), samples); }

  std::vector<Emitted> out;
  RollupBuilder builder{[this](SeriesId id, int64_t hour, const Rollup& r) { out.push_back({id.index(), hour, r}); }};
};

TEST_F(RollupBuilderTest, OneHourBecomesOneRollup) {
  add(0, {{at(0), 10}, {at(1), 30}, {at(2), 20}});
  EXPECT_TRUE(out.empty());
  builder.flush();
  ASSERT_EQ(out.size(), 1U);
  const Rollup& r = out[0].rollup;
  EXPECT_EQ(out[0].hour, kHour0);
  EXPECT_EQ(r.count, 3U);
  EXPECT_EQ(r.mean(), 20);
  EXPECT_EQ(r.min, 10);
  EXPECT_EQ(r.max, 30);
  EXPECT_EQ(r.first, at(0));
  EXPECT_EQ(r.last, at(2));
  EXPECT_EQ(r.covered, Duration::minutes(1 + 1 + 5));  // the last sample holds for five minutes
  EXPECT_EQ(r.sketch.count(), 3U);
  EXPECT_EQ(builder.accepted(), 3U);
  builder.flush();
  EXPECT_EQ(out.size(), 1U);
}

TEST_F(RollupBuilderTest, AFullHourOfMinutesIsFullyCovered) {
  for (int m = 0; m < 60; ++m)
    add(0, {{at(m), 50}});
  add(0, {{at(60), 50}});
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].rollup.covered, kHour);
}

TEST_F(RollupBuilderTest, GapsAreNotCovered) {
  add(0, {{at(0), 1}, {at(30), 1}, {at(58), 1}});
  builder.flush();
  // 5 + 5 minutes, and 2 to the end of the hour.
  EXPECT_EQ(out.at(0).rollup.covered, Duration::minutes(12));
}

TEST_F(RollupBuilderTest, SeriesAreIndependent) {
  add(0, {{at(0), 1}});
  add(1, {{at(0), 300}});
  add(0, {{at(60), 2}});
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].series, 0U);
  builder.flush();
  ASSERT_EQ(out.size(), 3U);
  EXPECT_EQ(out[1].hour, kHour0 + 1);
  EXPECT_EQ(out[2].series, 1U);
}

TEST_F(RollupBuilderTest, ARepeatedInstantIsADuplicate) {
  add(0, {{at(0), 10}, {at(0), 90}, {at(1), 20}});
  builder.flush();
  EXPECT_EQ(out.at(0).rollup.sum, 30);
  EXPECT_EQ(builder.duplicates(), 1U);
  EXPECT_EQ(builder.accepted(), 2U);
}

TEST_F(RollupBuilderTest, DisorderWithinTheHourIsSorted) {
  add(0, {{at(2), 30}, {at(0), 10}, {at(1), 20}, {at(0), 99}, {at(2), 99}});
  builder.flush();
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].rollup.sum, 60);
  EXPECT_EQ(out[0].rollup.covered, Duration::minutes(7));
  EXPECT_EQ(out[0].rollup.first, at(0));
  EXPECT_EQ(builder.duplicates(), 2U);
  EXPECT_EQ(builder.accepted(), 3U);
}

TEST_F(RollupBuilderTest, AnEarlierHourComesOutSeparately) {
  add(0, {{at(60), 1}, {at(0), 2}, {at(61), 3}});
  builder.flush();
  ASSERT_EQ(out.size(), 3U);
  EXPECT_EQ(out[0].hour, kHour0 + 1);
  EXPECT_EQ(out[1].hour, kHour0);
  EXPECT_EQ(out[2].hour, kHour0 + 1);
}

TEST_F(RollupBuilderTest, AStaleMarkEndsTheHold) {
  add(0, {{at(0), 10}});
  builder.interrupt(SeriesId(0), at(1));
  add(0, {{at(30), 20}});
  builder.interrupt(SeriesId(0), at(60));  // the hour ends there anyway
  builder.flush();
  EXPECT_EQ(out.at(0).rollup.count, 2U);
  EXPECT_EQ(out.at(0).rollup.covered, Duration::minutes(1 + 5));
  EXPECT_EQ(builder.accepted(), 2U);
}

TEST_F(RollupBuilderTest, AStaleMarkAtASampleDoesNotReplaceIt) {
  add(0, {{at(0), 10}, {at(1), 20}});
  builder.interrupt(SeriesId(0), at(1));
  builder.interrupt(SeriesId(0), at(3));
  add(0, {{at(3), 30}});
  builder.flush();
  EXPECT_EQ(out.at(0).rollup.count, 3U);
  EXPECT_EQ(out.at(0).rollup.covered, Duration::minutes(1 + 2 + 5));
  EXPECT_EQ(builder.duplicates(), 0U);
}

TEST_F(RollupBuilderTest, AStaleMarkAloneIsNothing) {
  builder.interrupt(SeriesId(0), at(1));
  builder.flush();
  EXPECT_TRUE(out.empty());
}

TEST_F(RollupBuilderTest, TimesBefore1970Work) {
  add(0, {{Instant::from_seconds(-30), 5}});
  builder.flush();
  EXPECT_EQ(out.at(0).hour, -1);
  EXPECT_EQ(out.at(0).rollup.covered, Duration::seconds(30));
}

}  // namespace
}  // namespace stint
