#include "sched/queues/usage_decay.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/prng.h"

namespace stint::sched {
namespace {

constexpr Duration kHalfLife = Duration::hours(128);  // a tick is an hour

Instant at(int64_t hours) { return Instant::from_seconds(1'800'000'000) + Duration::hours(hours); }

DecayClock clock_from(Instant origin, Duration half_life = kHalfLife) {
  DecayClock clock(half_life);
  clock.begin(origin);
  return clock;
}

TEST(DecayedLevel, ALevelHeldForOneHalfLifeStandsAtHalfAndHalvesAfterThat) {
  const DecayClock clock = clock_from(at(0));
  DecayedLevel used;
  used.change(clock, 1'000'000, at(0));
  EXPECT_EQ(used.average(clock, 0), 0);
  EXPECT_EQ(used.average(clock, 128), 500'000);
  EXPECT_EQ(used.average(clock, 256), 750'000);
  EXPECT_EQ(used.average(clock, 128 * 40), 1'000'000);
  used.change(clock, 0, at(128));
  EXPECT_EQ(used.average(clock, 128), 500'000);
  EXPECT_EQ(used.average(clock, 256), 250'000);
  EXPECT_EQ(used.average(clock, 384), 125'000);
  EXPECT_NEAR(static_cast<double>(used.average(clock, 192)), 353'553.4, 1);  // 500,000 / √2
  EXPECT_EQ(used.average(clock, 128 * 100), 0);
}

TEST(DecayedLevel, WithinATickUsageCountsByHowLongItWasHeld) {
  const DecayClock clock = clock_from(at(0));
  DecayedLevel quarter, whole;
  quarter.change(clock, 4'000'000, at(0) + Duration::minutes(20));
  quarter.change(clock, 0, at(0) + Duration::minutes(35));
  whole.change(clock, 1'000'000, at(0));
  whole.change(clock, 0, at(1));
  EXPECT_EQ(quarter.average(clock, 1), whole.average(clock, 1));
  EXPECT_EQ(whole.average(clock, 1), 5'401);  // 1,000,000 · (1 − 2^(−1/128))
}

TEST(DecayedLevel, AskingInBetweenChangesNothing) {
  const DecayClock clock = clock_from(at(0));
  DecayedLevel asked, left_alone;
  for (DecayedLevel* used : {&asked, &left_alone}) {
    used->change(clock, 77'777, at(3));
    used->change(clock, 11, at(30) + Duration::minutes(7));
  }
  for (int64_t tick = 30; tick < 2'000; ++tick) {
    EXPECT_LE(asked.average(clock, tick + 1), asked.average(clock, tick));
    asked.change(clock, 11, clock.begin_of(tick + 1));  // the same level: only brings it up to date
  }
  EXPECT_NEAR(static_cast<double>(asked.average(clock, 2'000)), static_cast<double>(left_alone.average(clock, 2'000)), 130);
  DecayedLevel again;
  again.change(clock, 77'777, at(3));
  again.change(clock, 11, at(30) + Duration::minutes(7));
  for (int64_t tick = 31; tick <= 500; ++tick)
    EXPECT_EQ(again.average(clock, tick), left_alone.average(clock, tick));
}

/// The integral itself, in floating point, over random levels.
TEST(DecayedLevel, AgreesWithTheIntegral) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    Prng random(seed);
    const DecayClock clock = clock_from(at(0));
    DecayedLevel used;
    struct Stretch {
      double from, to, level;
    };
    std::vector<Stretch> stretches;
    Instant now = at(0);
    int64_t level = 0;
    for (int i = 0; i < 60; ++i) {
      const Duration held = Duration::minutes(1 + static_cast<int64_t>(random.below(900)));
      stretches.push_back({(now - at(0)).to_hours(), (now + held - at(0)).to_hours(), static_cast<double>(level)});
      now = now + held;
      level = static_cast<int64_t>(random.below(64)) * 1'024'000;
      used.change(clock, level, now);
    }
    used.change(clock, 0, now);
    const int64_t tick = clock.tick_at(now) + 1 + static_cast<int64_t>(random.below(300));
    double expected = 0;
    const auto left = [&](double hour) { return std::exp2(-(static_cast<double>(tick) - hour) / 128.0); };
    for (const Stretch& s : stretches)
      expected += s.level * (left(s.to) - left(s.from));
    EXPECT_NEAR(static_cast<double>(used.average(clock, tick)), expected, 0.003 * expected + 100);
  }
}

TEST(DecayClock, WithoutAHalfLifeItStandsStill) {
  EXPECT_FALSE(DecayClock(Duration()).runs());
  EXPECT_TRUE(DecayClock(Duration::nanoseconds(1)).runs());
  EXPECT_EQ(DecayClock(Duration::nanoseconds(1)).tick(), Duration::nanoseconds(1));
}

TEST(DecayedLevel, TheLargestLevelsAndTheLongestTimesFit) {
  const DecayClock clock = clock_from(Instant(), Duration::hours(24 * 365 * 200));
  DecayedLevel used;
  used.change(clock, int64_t{1} << 60, Instant());
  used.change(clock, 0, clock.begin_of(128));
  EXPECT_EQ(used.average(clock, 128), int64_t{1} << 59);
  DecayedLevel short_lived;
  const DecayClock fast = clock_from(Instant(), Duration::nanoseconds(1));
  short_lived.change(fast, 1'000, Instant::from_ns(1));
  short_lived.change(fast, 0, at(0));
  EXPECT_EQ(short_lived.average(fast, fast.tick_at(at(1'000'000))), 0);
}

}  // namespace
}  // namespace stint::sched
