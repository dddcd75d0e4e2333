#include "telemetry/forecast.h"

#include <gmock/gmock.h>

#include <cmath>

#include "base/prng.h"
#include "telemetry/forecast_intervals.h"

namespace stint {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kPi = 3.14159265358979323846;

/// Hours of a working week: nights 10, days up to 110, weekends half.
double weekly_pattern(size_t hour) {
  const size_t of_day = hour % 24;
  const double day = of_day < 8 || of_day > 19 ? 0 : 100 * std::sin(kPi * (static_cast<double>(of_day) - 7) / 13);
  return 10 + day * (hour / 24 % 7 >= 5 ? 0.5 : 1);
}

template <typename Value>
DemandSeries hourly(size_t hours, Value&& value) {
  DemandSeries series{"demand", "GPUs", *parse_instant("2026-09-07"), kHour, {}};
  for (size_t i = 0; i < hours; ++i)
    series.values.push_back(value(i));
  return series;
}

TEST(Forecast, RepeatsAWeekThatRepeats) {
  const DemandSeries series = hourly(6 * 168, weekly_pattern);
  const auto made = forecast(series, {168, {}});
  ASSERT_TRUE(made.ok()) << made.error().message;
  ASSERT_EQ(made->points.size(), 168U);
  for (size_t h = 0; h < 168; ++h)
    EXPECT_NEAR(made->points[h].expected, weekly_pattern(h), 2) << "hour " << h;
  EXPECT_EQ(made->season, 168U);
  EXPECT_EQ(made->begin, series.end());
}

TEST(Forecast, BeatsSeasonalNaiveWhereNoiseHidesTheSeason) {
  Prng prng(7);
  const DemandSeries series = hourly(8 * 168, [&](size_t i) { return 50 + weekly_pattern(i) + 10 * prng.normal(); });
  const auto made = forecast(series, {24, {}});
  ASSERT_TRUE(made.ok());
  // Seasonal-naive adds the noise of two days: √2 times the least error possible. Ours should be close to the least.
  EXPECT_LT(made->score.mase, 0.85 * made->score.seasonal_naive_mase);
  EXPECT_LT(made->score.mean_error, 1.15 * 10 * std::sqrt(2 / kPi));
}

TEST(Forecast, FollowsATrend) {
  Prng prng(11);
  const auto truth = [](size_t i) { return 100 + 0.1 * static_cast<double>(i) + weekly_pattern(i); };
  const DemandSeries series = hourly(10 * 168, [&](size_t i) { return truth(i) + 5 * prng.normal(); });
  const auto made = forecast(series, {336, {}});
  ASSERT_TRUE(made.ok());
  EXPECT_LT(made->score.mase, made->score.seasonal_naive_mase);
  double error = 0;
  double seasonal_naive_error = 0;
  for (size_t h = 168; h < 336; ++h) {
    error += made->points[h].expected - truth(series.values.size() + h);
    seasonal_naive_error += -0.1 * 336;
  }
  EXPECT_LT(std::abs(error), 0.4 * std::abs(seasonal_naive_error));
}

TEST(Forecast, StaysNearTheLastValueOfARandomWalk) {
  Prng prng(3);
  double at = 1000;
  const DemandSeries series = hourly(6 * 168, [&](size_t) { return at += prng.normal(); });
  const auto made = forecast(series, {24, {}});
  ASSERT_TRUE(made.ok());
  EXPECT_LT(made->score.mase, 1.1 * made->score.naive_mase);
}

class ForecastIntervals : public ::testing::TestWithParam<uint64_t> {};
TEST_P(ForecastIntervals, HoldNineOfTen) {
  SCOPED_TRACE(GetParam());
  Prng prng(GetParam());
  double deviation = 0;
  const DemandSeries series = hourly(8 * 168, [&](size_t i) {
    deviation = 0.8 * deviation + 6 * prng.normal();
    return std::max(0.0, 60 + weekly_pattern(i) + deviation);
  });
  const auto made = forecast(series, {48, {}});
  ASSERT_TRUE(made.ok());
  EXPECT_GE(made->score.coverage_90, 0.85);
  EXPECT_LE(made->score.coverage_90, 0.95);
  for (const ForecastPoint& p : made->points) {
    EXPECT_TRUE(p.tested);
    EXPECT_TRUE(0 <= p.p5 && p.p5 <= p.p10 && p.p10 <= p.expected && p.expected <= p.p90 && p.p90 <= p.p95);
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, ForecastIntervals, ::testing::Range<uint64_t>(1, 7));

TEST(Forecast, SeesNothingOfTheFuture) {
  Prng prng(5);
  const DemandSeries series = hourly(5 * 168, [&](size_t i) { return weekly_pattern(i) + prng.normal(); });
  constexpr size_t kKnown = 600;
  DemandSeries other = series;
  for (size_t i = kKnown; i < other.values.size(); ++i)
    other.values[i] = i % 5 == 0 ? std::nullopt : std::optional(-1e6 * static_cast<double>(i));
  const auto before = forecast(series, {48, {}});
  const auto after = forecast(other, {48, {}});
  ASSERT_TRUE(before.ok() && after.ok());
  size_t compared = 0;
  for (const BacktestValue& a : before->backtest)
    for (const BacktestValue& b : after->backtest) {
      if (a.origin > kKnown || a.origin != b.origin || a.ahead != b.ahead) continue;
      ++compared;
      EXPECT_EQ(a.point.expected, b.point.expected) << a.origin << " + " << a.ahead;
      EXPECT_EQ(a.point.p5, b.point.p5);
      EXPECT_EQ(a.point.p95, b.point.p95);
    }
  EXPECT_GT(compared, 1000U);
}

TEST(Forecast, TheBacktestIsWhatWouldHaveBeenSaidThen) {
  Prng prng(6);
  const DemandSeries series = hourly(5 * 168, [&](size_t i) { return weekly_pattern(i) + prng.normal(); });
  const auto all = forecast(series, {48, {}});
  ASSERT_TRUE(all.ok());
  const size_t origin = all->backtest[all->backtest.size() / 2].origin;
  DemandSeries then = series;
  then.values.resize(origin);
  const auto made = forecast(then, {48, {}});
  ASSERT_TRUE(made.ok());
  for (const BacktestValue& value : all->backtest)
    if (value.origin == origin) {
      EXPECT_EQ(value.point.expected, made->points[value.ahead - 1].expected);
      EXPECT_EQ(value.point.p95, made->points[value.ahead - 1].p95);
    }
}

TEST(Forecast, ScoresAreThoseOfTheBacktest) {
  Prng prng(8);
  const DemandSeries series = hourly(4 * 168, [&](size_t i) { return weekly_pattern(i) + 3 * prng.normal(); });
  const auto made = forecast(series, {24, {}});
  ASSERT_TRUE(made.ok());
  double error = 0, scaled = 0, naive = 0, inside = 0;
  for (const BacktestValue& v : made->backtest) {
    double scale = 0;
    for (size_t i = 168; i < v.origin; ++i)
      scale += std::abs(*series.values[i] - *series.values[i - 168]) / static_cast<double>(v.origin - 168);
    error += std::abs(v.actual - v.point.expected);
    scaled += std::abs(v.actual - v.point.expected) / scale;
    naive += std::abs(v.actual - *series.values[v.origin - 1]) / scale;
    inside += v.point.p5 <= v.actual && v.actual <= v.point.p95 ? 1 : 0;
  }
  const auto n = static_cast<double>(made->backtest.size());
  EXPECT_EQ(made->score.compared, made->backtest.size());
  EXPECT_NEAR(made->score.mean_error, error / n, 1e-9);
  EXPECT_NEAR(made->score.mase, scaled / n, 1e-9);
  EXPECT_NEAR(made->score.naive_mase, naive / n, 1e-9);
  EXPECT_NEAR(made->score.coverage_90, inside / n, 1e-12);
}

TEST(Forecast, TakesMissingHoursForMissing) {
  const DemandSeries series = hourly(
      4 * 168, [](size_t i) { return i % 7 == 0 || (i > 400 && i < 430) || i > 660 ? std::nullopt : std::optional(100.0); });
  const auto made = forecast(series, {48, {}});
  ASSERT_TRUE(made.ok());
  for (const ForecastPoint& p : made->points)
    EXPECT_NEAR(p.expected, 100, 1e-9);
}

TEST(Forecast, SaysWhichDistancesItCouldNotTry) {
  const DemandSeries series = hourly(100, [](size_t i) { return 50 + static_cast<double>(i % 5); });
  const auto made = forecast(series, {336, {}});
  ASSERT_TRUE(made.ok());
  EXPECT_FALSE(made->points.back().tested);
  EXPECT_GT(made->points.back().p95 - made->points.back().p5, made->points.front().p95 - made->points.front().p5);
}

TEST(Forecast, AddsKnownChanges) {
  const DemandSeries series = hourly(4 * 168, [](size_t) { return 100.0; });
  const Instant end = series.end();
  const auto made = forecast(
      series, {72, {{end + kHour * 24, end + kHour * 48, 1.5, 0, "retraining"}, {end + kHour * 36, {}, 1, 40, "client"}}});
  ASSERT_TRUE(made.ok());
  EXPECT_NEAR(made->points[23].expected, 100, 1e-9);
  EXPECT_NEAR(made->points[24].expected, 150, 1e-9);
  EXPECT_NEAR(made->points[36].expected, 190, 1e-9);
  EXPECT_NEAR(made->points[48].expected, 140, 1e-9);
  EXPECT_NEAR(made->points[48].p95, 140, 1e-9);
}

TEST(Forecast, RefusesWhatItCannotDo) {
  const DemandSeries few = hourly(23, [](size_t) { return 1.0; });
  EXPECT_THAT(forecast(few, {}).error().message, HasSubstr("23 known values are too few"));
  const DemandSeries series = hourly(100, [](size_t) { return 1.0; });
  EXPECT_THAT(forecast(series, {0, {}}).error().message, HasSubstr("from 1 to 2400"));
  EXPECT_THAT(forecast(series, {2401, {}}).error().message, HasSubstr("from 1 to 2400"));
  const Instant end = series.end();
  EXPECT_THAT(forecast(series, {24, {{series.begin, {}, 1, 5, "late news"}}}).error().message, HasSubstr("in the past already"));
  EXPECT_THAT(forecast(series, {24, {{end + kHour, end, 1, 5, "x"}}}).error().message, HasSubstr("not after it begins"));
  EXPECT_THAT(forecast(series, {24, {{end + kHour, {}, -1, 5, "x"}}}).error().message, HasSubstr("0 or more"));
}

TEST(Forecast, IsTheSameEveryTime) {
  Prng prng(9);
  const DemandSeries series = hourly(3 * 168, [&](size_t i) { return weekly_pattern(i) + prng.normal(); });
  const auto a = forecast(series, {100, {}});
  const auto b = forecast(series, {100, {}});
  for (size_t h = 0; h < 100; ++h) {
    EXPECT_EQ(a->points[h].expected, b->points[h].expected);
    EXPECT_EQ(a->points[h].p5, b->points[h].p5);
  }
}

// --- the plain methods -------------------------------------------------------------------------------------------------------

std::vector<double> run(ForecastMethod method, std::vector<std::optional<double>> past, std::vector<size_t> seasons,
                        size_t steps) {
  std::vector<double> out(steps);
  forecast_with(method, {past, seasons}, out);
  return out;
}

TEST(ForecastMethods, NaiveIsTheLastKnownValue) {
  EXPECT_THAT(run(ForecastMethod::kNaive, {1, 5, std::nullopt}, {}, 2), ElementsAre(5, 5));
}

TEST(ForecastMethods, SeasonalNaiveGoesBackToTheLastCycleThatIsKnown) {
  // Phases 0, 1, 2: the youngest known values are 4, 2 and 6; then the cycle repeats.
  EXPECT_THAT(run(ForecastMethod::kSeasonalNaiveLong, {1, 2, 3, 4, std::nullopt, 6}, {3}, 5), ElementsAre(4, 2, 6, 4, 2));
}

TEST(ForecastMethods, PhaseMeanCountsYoungerCyclesMore) {
  // (1 × 0.75 + 4) / 1.75 and, where the young one is missing, the old one alone.
  EXPECT_THAT(run(ForecastMethod::kPhaseMean, {1, 2, 4, std::nullopt}, {2}, 2),
              ElementsAre(DoubleNear(4.75 / 1.75, 1e-12), DoubleNear(2, 1e-12)));
}

TEST(ForecastMethods, SmoothingAveragesTheFirstValues) {
  // Weights 1, 1/2, 1/3 and then the constant 0.3.
  EXPECT_THAT(run(ForecastMethod::kSmoothFast, {3, 6, 9, 6}, {}, 1), ElementsAre(DoubleNear(6, 1e-12)));
  EXPECT_THAT(run(ForecastMethod::kSmoothFast, {3, 6, 9, 16}, {}, 1), ElementsAre(DoubleNear(9, 1e-12)));
}

TEST(ForecastMethods, ProfileByFactorsKeepsTheRatioOfDayToNight) {
  std::vector<std::optional<double>> past;
  for (int day = 0; day < 12; ++day)
    for (int hour = 0; hour < 24; ++hour)
      past.push_back((hour < 12 ? 100 : 400) * std::exp2(day / 4.0));
  const std::vector<double> out = run(ForecastMethod::kProfileLog, past, {24}, 24);
  for (size_t h = 0; h < 12; ++h)
    EXPECT_NEAR(out[h + 12] / out[h], 4, 0.6);
}

TEST(ForecastMethods, SeasonsAreThoseOfTheCalendar) {
  EXPECT_THAT(seasons_of(kHour), ElementsAre(24, 168));
  EXPECT_THAT(seasons_of(Duration::minutes(1)), ElementsAre(60, 1440, 10080));
  EXPECT_THAT(seasons_of(Duration::seconds(10)), ElementsAre(6, 360, 8640, 60480));
  EXPECT_THAT(seasons_of(Duration::minutes(7)), ElementsAre(1440));  // 7 min divide a week, but neither an hour nor a day
}

// --- intervals ---------------------------------------------------------------------------------------------------------------

TEST(ErrorPool, GivesTheTailsOfWhatItSaw) {
  ErrorPool pool;
  EXPECT_EQ(pool.tails(1).p5, 0);
  // 99 errors −49 … 49 from four origins; with as many misses as there should be the tails stay at 5 %.
  ErrorPool::Batch batch{{}, 2, ErrorPool::kTail, ErrorPool::kTail};
  for (int e = -49; e <= 49; ++e) {
    batch.errors.push_back(e);
    if (batch.errors.size() < 33) continue;
    EXPECT_FALSE(pool.trusted());
    pool.learn(batch);
    batch.errors.clear();
  }
  EXPECT_FALSE(pool.trusted());  // three origins are too few
  pool.learn(batch);
  EXPECT_TRUE(pool.trusted());
  const ErrorPool::Tails tails = pool.tails(2);
  EXPECT_EQ(tails.p5, -45);  // the fifth of 99 + 1
  EXPECT_EQ(tails.p10, -40);
  EXPECT_EQ(tails.p90, 40);
  EXPECT_EQ(tails.p95, 45);
}

TEST(ErrorPool, ScalesErrorsWithTheRoughnessWithinLimits) {
  ErrorPool pool;
  pool.learn({{-10, 10}, 2, ErrorPool::kTail, ErrorPool::kTail});
  EXPECT_EQ(pool.tails(4).p95, 20);
  EXPECT_EQ(pool.tails(200).p95, 30);
  EXPECT_NEAR(pool.tails(0.001).p5, -10 / 3.0, 1e-12);
}

TEST(ErrorPool, WidensAfterMissesAndNarrowsWithoutAny) {
  const auto after = [](double missed) {
    ErrorPool pool;
    for (int origin = 0; origin < 10; ++origin) {
      ErrorPool::Batch batch{{}, 1, missed, missed};
      for (int e = -20; e <= 20; ++e)
        batch.errors.push_back(e);
      pool.learn(batch);
    }
    return pool.tails(1).p95;
  };
  EXPECT_GT(after(0.4), after(0.05));
  EXPECT_LT(after(0.0), after(0.05));
}

}  // namespace
}  // namespace stint
