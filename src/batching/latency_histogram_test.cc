#include "batching/latency_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/prng.h"

namespace stint::batching {
namespace {

Duration ns(int64_t n) { return Duration::nanoseconds(n); }

TEST(LatencyHistogram, ShortTimesAreExact) {
  LatencyHistogram histogram;
  for (int64_t n = 1; n <= 100; ++n)
    histogram.add(ns(n));
  EXPECT_EQ(histogram.quantile(0.5), ns(50));
  EXPECT_EQ(histogram.quantile(0.99), ns(99));
  EXPECT_EQ(histogram.quantile(1), ns(100));
  EXPECT_EQ(histogram.quantile(0), ns(1));
  EXPECT_EQ(histogram.mean(), ns(51));  // 50.5
  EXPECT_EQ(LatencyHistogram().quantile(0.5), Duration());
}

TEST(LatencyHistogram, QuantilesAreWithinOnePercentOfTheSortedTimes) {
  constexpr uint64_t kSeed = 7;
  SCOPED_TRACE(kSeed);
  Prng prng(kSeed);
  LatencyHistogram histogram, other;
  std::vector<int64_t> times;
  for (int i = 0; i < 20'000; ++i) {
    const auto time = static_cast<int64_t>(std::exp(prng.uniform() * 30));  // up to three hours
    times.push_back(time);
    (i % 2 == 0 ? histogram : other).add(ns(time));
  }
  histogram.merge(other);
  std::ranges::sort(times);
  EXPECT_EQ(histogram.count(), 20'000);
  EXPECT_EQ(histogram.longest(), ns(times.back()));
  for (const double q : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999}) {
    const auto exact = static_cast<double>(times[static_cast<size_t>(std::ceil(q * 20'000)) - 1]);
    const auto told = static_cast<double>(histogram.quantile(q).count_ns());
    EXPECT_GE(told, exact);
    EXPECT_LE(told, exact * 1.01);
  }
}

TEST(LatencyHistogram, TakesTheLongestTimeThereIs) {
  LatencyHistogram histogram;
  histogram.add(ns(INT64_MAX));
  histogram.add(ns(-5));
  EXPECT_EQ(histogram.quantile(1), ns(INT64_MAX));
  EXPECT_EQ(histogram.quantile(0.5), Duration());
}

}  // namespace
}  // namespace stint::batching
