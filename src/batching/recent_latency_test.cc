#include "batching/recent_latency.h"

#include <gtest/gtest.h>

namespace stint::batching {
namespace {

Instant at(int64_t seconds) { return Instant::from_seconds(1'760'000'010 + seconds); }  // a half minute begins there
Duration ms(int64_t n) { return Duration::milliseconds(n); }

TEST(RecentLatency, ForgetsWhatIsOlderThanAMinute) {
  RecentLatency recent;
  EXPECT_FALSE(recent.quantile(at(0), 0.99));
  recent.add(at(0), ms(800));
  for (int i = 0; i < 1000; ++i)
    recent.add(at(31), ms(10));
  EXPECT_NEAR(recent.quantile(at(59), 1)->to_seconds(), 0.8, 0.008) << "the half minute before counts";
  EXPECT_NEAR(recent.quantile(at(59), 0.99)->to_seconds(), 0.01, 0.0001);
  EXPECT_NEAR(recent.quantile(at(60), 1)->to_seconds(), 0.01, 0.0001) << "the first half minute is over";
  EXPECT_TRUE(recent.quantile(at(89), 0.99));
  EXPECT_FALSE(recent.quantile(at(90), 0.99)) << "nothing was told for 30 s at least";
}

TEST(RecentLatency, BeginsAnewAfterAPause) {
  RecentLatency recent;
  recent.add(at(0), ms(800));
  recent.add(at(30), ms(700));
  recent.add(at(150), ms(10));
  EXPECT_NEAR(recent.quantile(at(150), 1)->to_seconds(), 0.01, 0.0001);
  recent.add(at(10), ms(20));  // the clock was set back: it counts as now
  EXPECT_NEAR(recent.quantile(at(150), 1)->to_seconds(), 0.02, 0.0002);
}

}  // namespace
}  // namespace stint::batching
