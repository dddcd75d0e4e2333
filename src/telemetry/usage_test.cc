#include "telemetry/usage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/prng.h"

namespace stint {
namespace {

constexpr int64_t kHour0 = 480'000;  // 00:00 UTC of day 20,000
const Interval kPeriod{Instant::from_hour_index(kHour0), Instant::from_hour_index(kHour0 + 48)};

Rollup rollup_of(Metric metric, int64_t hour, const std::vector<double>& values, Duration covered = Duration::minutes(60)) {
  Rollup r;
  r.count = static_cast<uint32_t>(values.size());
  r.min = *std::min_element(values.begin(), values.end());
  r.max = *std::max_element(values.begin(), values.end());
  for (const double v : values) {
    r.sum += v;
    r.sketch.add(metric, v);
  }
  r.covered = covered;
  r.first = Instant::from_hour_index(hour);
  r.last = r.first + Duration::minutes(static_cast<int64_t>(values.size()) - 1);
  return r;
}

HourlySeries series_of(Metric metric, const std::vector<std::vector<double>>& hours, Duration covered = Duration::minutes(60)) {
  HourlySeries series;
  for (size_t h = 0; h < hours.size(); ++h)
    if (!hours[h].empty())
      add_hour(series, metric, h, hours.size(), rollup_of(metric, kHour0 + static_cast<int64_t>(h), hours[h], covered));
  return series;
}

TEST(HourlySeries, SumsUpAnHour) {
  const HourlySeries s = series_of(Metric::kUtilization, {{}, {0, 0.5, 1, 98.5}});
  ASSERT_EQ(s.hours.size(), 2U);
  EXPECT_EQ(s.hours[0].covered_s, 0);
  EXPECT_EQ(s.hours[1].mean, 25);
  EXPECT_EQ(s.hours[1].max, 98.5F);
  EXPECT_EQ(s.hours[1].covered_s, 3600);
  EXPECT_EQ(s.hours[1].idle_permille, 500);  // 0 and 0.5; 1 % counts as active
  EXPECT_EQ(s.count, 4U);
  EXPECT_EQ(s.max, 98.5);
}

TEST(HourlySeries, OnlyPercentagesAreIdle) { EXPECT_EQ(series_of(Metric::kPower, {{0, 0}}).hours[0].idle_permille, 0); }

TEST(HourlySeries, ASecondSourceOfAnHourIsAveragedByCoverage) {
  HourlySeries s;
  add_hour(s, Metric::kUtilization, 0, 1, rollup_of(Metric::kUtilization, kHour0, {10}, Duration::minutes(45)));
  add_hour(s, Metric::kUtilization, 0, 1, rollup_of(Metric::kUtilization, kHour0, {50}, Duration::minutes(15)));
  EXPECT_EQ(s.hours[0].mean, 20);
  EXPECT_EQ(s.hours[0].covered_s, 45 * 60);
}

TEST(HourlySeriesBuilder, EqualsDecodeAndAddHour) {
  constexpr uint64_t kSeed = 5;
  Prng prng(kSeed);
  // A period that begins and ends in the middle of a day.
  const Interval period{Instant::from_hour_index(kHour0 + 7), Instant::from_hour_index(kHour0 + 40)};
  for (const Metric metric : {Metric::kUtilization, Metric::kMemoryUsed}) {
    HourlySeriesBuilder fast(metric, period);
    HourlySeries slow;
    for (int64_t d = 0; d < 3; ++d) {
      RollupDay day{.day_index = 20'000 + d, .hours = {}};
      for (uint32_t h = 0; h < 24; ++h) {
        if (prng.below(3) == 0) continue;
        std::vector<double> values(1 + prng.below(60));
        for (double& v : values)
          v = prng.uniform() * (metric == Metric::kUtilization ? 3 : 8e10);
        const int64_t hour = kHour0 + d * 24 + h;
        day.hours[h] = rollup_of(metric, hour, values, Duration::seconds(1 + static_cast<int64_t>(prng.below(3600))));
        if (hour >= kHour0 + 7 && hour < kHour0 + 40)
          add_hour(slow, metric, static_cast<size_t>(hour - kHour0 - 7), 33, *day.hours[h]);
      }
      ASSERT_TRUE(fast.add_day(day.day_index, encode(day)).ok());
    }
    const HourlySeries quick = fast.take();
    ASSERT_EQ(quick.hours.size(), slow.hours.size());
    for (size_t h = 0; h < 33; ++h)
      EXPECT_EQ(std::tuple(quick.hours[h].mean, quick.hours[h].max, quick.hours[h].covered_s, quick.hours[h].idle_permille),
                std::tuple(slow.hours[h].mean, slow.hours[h].max, slow.hours[h].covered_s, slow.hours[h].idle_permille))
          << "seed " << kSeed << " hour " << h;
    EXPECT_EQ(std::tuple(quick.count, quick.min, quick.max, quick.sketch.count()),
              std::tuple(slow.count, slow.min, slow.max, slow.sketch.count()));
    for (const double q : {0.1, 0.5, 0.95})
      EXPECT_EQ(quick.sketch.quantile(metric, q), slow.sketch.quantile(metric, q));
    EXPECT_TRUE(fast.take().empty());
  }
}

TEST(HourlySeriesBuilder, DamagedBytesAreAnError) {
  HourlySeriesBuilder builder(Metric::kUtilization, kPeriod);
  EXPECT_FALSE(builder.add_day(20'000, "\x01\x03").ok());
}

// dcgm-exporter#395, #50: PROF fields are missing on old GPUs, so the plain utilisation is all there is.
TEST(DeviceUsage, OldGpusHaveOnlyUtilization) {
  DeviceUsage d;
  d.metrics[Metric::kUtilization] = series_of(Metric::kUtilization, {{40}});
  EXPECT_EQ(d.utilization_source(), Metric::kUtilization);
  EXPECT_EQ(d.utilization()->hours[0].mean, 40);
}

// dcgm-exporter#105, #216, #430: under MIG the utilisation is absent, or present and always 0.
TEST(DeviceUsage, UnderMigTheEngineStandsInForUtilization) {
  DeviceUsage d;
  d.metrics[Metric::kSmActive] = series_of(Metric::kSmActive, {{20}});
  EXPECT_EQ(d.utilization_source(), Metric::kSmActive);
  d.metrics[Metric::kEngineActive] = series_of(Metric::kEngineActive, {{30}});
  EXPECT_EQ(d.utilization_source(), Metric::kEngineActive);
  d.metrics[Metric::kUtilization] = series_of(Metric::kUtilization, {{0}});
  EXPECT_EQ(d.utilization_source(), Metric::kEngineActive);
  EXPECT_EQ(d.utilization()->hours[0].mean, 30);
}

TEST(DeviceUsage, AnIdleGpuIsIdleByItsUtilization) {
  DeviceUsage d;
  d.metrics[Metric::kUtilization] = series_of(Metric::kUtilization, {{0}});
  d.metrics[Metric::kEngineActive] = series_of(Metric::kEngineActive, {{0}});
  EXPECT_EQ(d.utilization_source(), Metric::kUtilization);
}

TEST(DeviceUsage, WithoutTelemetryThereIsNoUtilization) {
  DeviceUsage d;
  d.metrics[Metric::kUtilization];
  EXPECT_EQ(d.utilization(), nullptr);
  EXPECT_EQ(d.utilization_source(), std::nullopt);
}

DeviceUsage::Held held(uint32_t holder, HourlySeries series) {
  DeviceUsage::Held h{.holder = HolderId(holder), .metrics = {}};
  h.metrics[Metric::kUtilization] = std::move(series);
  return h;
}

// dcgm-exporter#587, #582, #642: under time slicing every pod shows the value of the device.
TEST(FillDeviceSeries, RepeatedDeviceValuesCountOnce) {
  DeviceUsage d;
  for (uint32_t pod = 0; pod < 3; ++pod)
    d.holders.push_back(held(pod, series_of(Metric::kUtilization, {{30, 50}, {}})));
  fill_device_series_from_holders(d);
  const HourlySeries& s = d.metrics.at(Metric::kUtilization);
  EXPECT_EQ(s.hours[0].mean, 40);
  EXPECT_EQ(s.hours[0].covered_s, 3600);
  EXPECT_EQ(s.hours[1].covered_s, 0);
  EXPECT_EQ(s.count, 2U);
  EXPECT_EQ(s.sketch.quantile(Metric::kUtilization, 1), 50);
}

TEST(FillDeviceSeries, TheDevicesOwnSeriesStays) {
  DeviceUsage d;
  d.metrics[Metric::kUtilization] = series_of(Metric::kUtilization, {{70}});
  d.holders.push_back(held(0, series_of(Metric::kUtilization, {{10}})));
  fill_device_series_from_holders(d);
  EXPECT_EQ(d.metrics.at(Metric::kUtilization).hours[0].mean, 70);
}

TEST(FillDeviceSeries, OfOverlappingHoldersTheLargestIsTaken) {
  DeviceUsage d;
  d.holders.push_back(held(0, series_of(Metric::kUtilization, {{20}})));
  d.holders.push_back(held(1, series_of(Metric::kUtilization, {{60}})));
  fill_device_series_from_holders(d);
  EXPECT_EQ(d.metrics.at(Metric::kUtilization).hours[0].mean, 60);
}

TEST(FillDeviceSeries, HoldersOneAfterAnotherAreAveraged) {
  DeviceUsage d;
  d.holders.push_back(held(0, series_of(Metric::kUtilization, {{20}}, Duration::minutes(15))));
  d.holders.push_back(held(1, series_of(Metric::kUtilization, {{60}}, Duration::minutes(45))));
  fill_device_series_from_holders(d);
  EXPECT_EQ(d.metrics.at(Metric::kUtilization).hours[0].mean, 50);
  EXPECT_EQ(d.metrics.at(Metric::kUtilization).hours[0].covered_s, 3600);
}

/// A source that names the holder while there is one shows the device under its own name only when it is free.
TEST(FillDeviceSeries, OwnSeriesOfTheFreeHoursIsCompletedByHolders) {
  DeviceUsage d;
  d.metrics[Metric::kUtilization] = series_of(Metric::kUtilization, {{0}}, Duration::minutes(15));
  d.holders.push_back(held(0, series_of(Metric::kUtilization, {{80}}, Duration::minutes(45))));
  fill_device_series_from_holders(d);
  const HourlySeries& whole = d.metrics.at(Metric::kUtilization);
  EXPECT_EQ(whole.hours[0].mean, 60);  // (0 × 15 + 80 × 45) / 60
  EXPECT_EQ(whole.hours[0].covered_s, 3600);
  EXPECT_EQ(whole.count, 2U);
  EXPECT_EQ(whole.max, 80);
}

TEST(FillDeviceSeries, OwnSeriesBesideHoldersStands) {
  DeviceUsage d;
  d.metrics[Metric::kUtilization] = series_of(Metric::kUtilization, {{30}});
  d.holders.push_back(held(0, series_of(Metric::kUtilization, {{10}})));
  fill_device_series_from_holders(d);
  EXPECT_EQ(d.metrics.at(Metric::kUtilization).hours[0].mean, 30);
  EXPECT_EQ(d.metrics.at(Metric::kUtilization).count, 1U);
}

}  // namespace
}  // namespace stint
