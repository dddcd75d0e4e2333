#include "batching/latency_watch.h"

#include <gtest/gtest.h>

#include "batching/testing_batches.h"

namespace stint::batching {
namespace {

/// 2 ms for one, 4 ms for eight, 8 ms for 32.
LatencyProfile measured() {
  auto profile = LatencyProfile::create({{1, {ms(2)}}, {8, {ms(4)}}, {32, {ms(8)}}});
  CHECK(profile.ok(), "{}", profile.error().message);
  return std::move(*profile);
}

void run(LatencyWatch& watch, int64_t items, Duration took, size_t times) {
  for (size_t i = 0; i < times; ++i)
    watch.add(items, took);
}

TEST(LatencyWatch, WhatTakesAsLongAsMeasuredChangesNothing) {
  LatencyWatch watch(measured());
  run(watch, 8, Duration::nanoseconds(4'400'000), 1'000);
  EXPECT_FALSE(watch.follow());
  EXPECT_EQ(watch.profile().quantile(8, 0.5), ms(4));
  EXPECT_EQ(watch.ratio(), 1);
}

TEST(LatencyWatch, FollowsWhatIsSeenAndItsNeighbours) {
  LatencyWatch watch(measured());
  run(watch, 8, ms(8), LatencyWatch::kSeen - 1);
  EXPECT_FALSE(watch.follow()) << "too few to say so";
  run(watch, 8, ms(8), 1);
  EXPECT_TRUE(watch.follow());
  EXPECT_EQ(watch.profile().quantile(1, 0.5), ms(4));
  EXPECT_EQ(watch.profile().quantile(8, 0.5), ms(8));
  EXPECT_EQ(watch.profile().quantile(32, 0.5), ms(16));
  EXPECT_DOUBLE_EQ(watch.ratio(), 2);
  EXPECT_FALSE(watch.follow()) << "it is so now";
  // And back.
  run(watch, 8, ms(4), LatencyWatch::kSeen);
  EXPECT_TRUE(watch.follow());
  EXPECT_EQ(watch.profile().quantile(32, 0.5), ms(8));
  EXPECT_DOUBLE_EQ(watch.ratio(), 1);
}

TEST(LatencyWatch, EverySizeFollowsItsOwn) {
  LatencyWatch watch(measured());
  run(watch, 1, ms(2), LatencyWatch::kSeen);
  run(watch, 32, ms(16), LatencyWatch::kSeen);
  ASSERT_TRUE(watch.follow());
  EXPECT_EQ(watch.profile().quantile(1, 0.5), ms(2));
  EXPECT_EQ(watch.profile().quantile(32, 0.5), ms(16));
}

TEST(LatencyWatch, AFewSlowOnesAreNoDrift) {
  LatencyWatch watch(measured());
  for (int i = 0; i < 10; ++i) {
    run(watch, 8, ms(4), 20);
    run(watch, 8, ms(40), 10);
  }
  EXPECT_FALSE(watch.follow());
}

TEST(LatencyWatch, LooksAtTheLastOnesOnly) {
  LatencyWatch watch(measured());
  run(watch, 8, ms(4), 10'000);
  run(watch, 8, ms(6), LatencyWatch::kSeen);
  EXPECT_TRUE(watch.follow());
}

TEST(LatencyWatch, BatchesBetweenMeasuredSizesCount) {
  LatencyWatch watch(measured());
  run(watch, 20, ms(12), LatencyWatch::kSeen);  // 6 ms by the line between 8 and 32
  ASSERT_TRUE(watch.follow());
  EXPECT_EQ(watch.profile().quantile(20, 0.5), ms(12));
}

}  // namespace
}  // namespace stint::batching
