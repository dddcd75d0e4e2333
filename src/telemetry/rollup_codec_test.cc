#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/prng.h"
#include "telemetry/rollup.h"

namespace stint {
namespace {

constexpr int64_t kDay = 20'500;

/// An hour of samples of `metric`, one per minute, drawn by `draw`.
template <typename Draw>
Rollup hour_of(Metric metric, uint32_t hour, Instant first, const Draw& draw, int samples = 60) {
  Rollup r;
  r.first = first;
  r.last = first + Duration::seconds(int64_t{60} * (samples - 1) * 59 / 60);
  r.covered = Duration::seconds(std::min(3600, samples * 60 - 30));
  r.min = INFINITY;
  r.max = -INFINITY;
  for (int i = 0; i < samples; ++i) {
    const double v = draw();
    r.sum += v;
    r.min = std::min(r.min, v);
    r.max = std::max(r.max, v);
    r.sketch.add(metric, v);
    ++r.count;
  }
  EXPECT_EQ(first.hour_index(), kDay * 24 + hour);
  return r;
}

Instant at(uint32_t hour, Duration into) { return Instant::from_hour_index(kDay * 24 + hour) + into; }

RollupDay random_day(Prng& prng) {
  RollupDay day;
  day.day_index = kDay;
  const Metric metric = static_cast<Metric>(prng.below(kMetricCount));
  const double scale = std::exp(prng.uniform() * 40 - 5);
  const bool whole = prng.below(2) == 0;
  const int64_t step_ns = std::array{1LL, 1'000LL, 1'000'000LL, 1'000'000'000LL}[prng.below(4)];
  for (uint32_t h = 0; h < 24; ++h) {
    if (prng.below(4) == 0) continue;
    const Duration into = Duration::nanoseconds(static_cast<int64_t>(prng.below(30)) * step_ns);
    const auto draw = [&] {
      const double v = (prng.uniform() - 0.1) * (is_percentage(metric) ? 100 : scale);
      return whole ? std::round(v) : v;
    };
    day.hours[h] = hour_of(metric, h, at(h, into), draw, static_cast<int>(1 + prng.below(60)));
  }
  return day;
}

void expect_same(const RollupDay& a, const RollupDay& b) {
  ASSERT_EQ(a.day_index, b.day_index);
  for (size_t h = 0; h < 24; ++h) {
    ASSERT_EQ(a.hours[h].has_value(), b.hours[h].has_value()) << "hour " << h;
    if (!a.hours[h]) continue;
    const Rollup& x = *a.hours[h];
    const Rollup& y = *b.hours[h];
    EXPECT_EQ(std::tuple(x.count, x.sum, x.min, x.max, x.covered, x.first, x.last),
              std::tuple(y.count, y.sum, y.min, y.max, y.covered, y.first, y.last));
    ASSERT_EQ(x.sketch.bins().size(), y.sketch.bins().size());
    for (size_t i = 0; i < x.sketch.bins().size(); ++i) {
      EXPECT_EQ(x.sketch.bins()[i].key, y.sketch.bins()[i].key);
      EXPECT_EQ(x.sketch.bins()[i].count, y.sketch.bins()[i].count);
    }
    EXPECT_EQ(x.sketch.count(), y.sketch.count());
  }
}

TEST(RollupCodec, RoundTripIsExact) {
  constexpr uint64_t kSeed = 1;
  Prng prng(kSeed);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(fmt::format("seed {} round {}", kSeed, round));
    const RollupDay day = random_day(prng);
    const std::string bytes = encode(day);
    const auto again = decode_rollup_day(kDay, bytes);
    ASSERT_TRUE(again.ok()) << again.error().message;
    expect_same(day, *again);
    EXPECT_EQ(encode(*again), bytes);
  }
}

TEST(RollupCodec, AnEmptyDayIsFiveBytes) {
  EXPECT_EQ(encode(RollupDay{.day_index = kDay, .hours = {}}).size(), 5U);
  EXPECT_TRUE(decode_rollup_day(kDay, encode(RollupDay{.day_index = kDay, .hours = {}})).ok());
}

TEST(RollupCodec, LayoutIsAsDrawnInTheDocs) {
  RollupDay day;
  day.day_index = kDay;
  Rollup& r = day.hours[9].emplace();
  r.count = 3, r.sum = 110, r.min = 0, r.max = 60;
  r.first = at(9, Duration::seconds(30)), r.last = at(9, Duration::seconds(150)), r.covered = Duration::seconds(420);
  for (const double v : {0.0, 50.0, 60.0})
    r.sketch.add(Metric::kUtilization, v);
  const std::vector<uint8_t> expected = {
      1,    3,    0x00, 0x02, 0x00,  // version, seconds, hour 9
      0,    3,    1,    30,   120,  0xa4,
      0x03, 0xdc, 0x01, 0,    120,  // three integers; 3 samples, 1 low; 30 s, +120 s, 420 s; 110, 0, 60
      3,    1,                      // bins, first key − 1 = −1
      0x11,                         // key 0, once
      0x01, 100,                    // + 100 → key 100 = 50 %, once
      0x01, 20,                     // + 20 → key 120 = 60 %, once
  };
  const std::string bytes = encode(day);
  EXPECT_EQ(std::vector<uint8_t>(bytes.begin(), bytes.end()), expected);
}

TEST(RollupCodec, ATypicalPercentageHourTakesFortyToEightyBytes) {
  Prng prng(9);
  RollupDay day;
  day.day_index = kDay;
  const auto draw = [&] { return std::clamp(std::round(60 + prng.normal() * 12), 0.0, 100.0); };
  for (uint32_t h = 0; h < 24; ++h)
    day.hours[h] = hour_of(Metric::kUtilization, h, at(h, Duration::milliseconds(781)), draw);
  EXPECT_LE(encode(day).size() / 24, 80U);
}

TEST(RollupCodec, EveryTruncationIsAnError) {
  Prng prng(2);
  for (int round = 0; round < 20; ++round) {
    const RollupDay day = random_day(prng);
    const std::string bytes = encode(day);
    for (size_t n = 0; n < bytes.size(); ++n)
      EXPECT_FALSE(decode_rollup_day(kDay, std::string_view(bytes).substr(0, n)).ok());
    EXPECT_FALSE(decode_rollup_day(kDay, bytes + 'x').ok());
  }
}

TEST(RollupCodec, CorruptionIsRefusedOrGivesASoundDay) {
  constexpr uint64_t kSeed = 3;
  Prng prng(kSeed);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = encode(random_day(prng));
    for (uint64_t flips = 1 + prng.below(3); flips > 0; --flips)
      bytes[prng.below(bytes.size())] = static_cast<char>(prng.below(256));
    const auto day = decode_rollup_day(kDay, bytes);
    if (!day.ok()) continue;
    const auto again = decode_rollup_day(kDay, encode(*day));  // encode CHECKs the invariants
    ASSERT_TRUE(again.ok()) << "seed " << kSeed << " round " << round;
    round += 9;
  }
}

TEST(RollupCodec, ANewerVersionIsNamed) {
  std::string bytes = encode(RollupDay{.day_index = kDay, .hours = {}});
  bytes[0] = 9;
  const auto day = decode_rollup_day(kDay, bytes);
  ASSERT_FALSE(day.ok());
  EXPECT_THAT(day.error().message, testing::HasSubstr("version 9"));
}

TEST(RollupDayReader, AgreesWithTheFullDecoder) {
  Prng prng(11);
  for (int round = 0; round < 100; ++round) {
    const RollupDay day = random_day(prng);
    const std::string bytes = encode(day);
    const auto reader = RollupDayReader::open(kDay, bytes);
    ASSERT_TRUE(reader.ok());
    const uint32_t mask = static_cast<uint32_t>(prng.next()) & 0xffffff;
    Sketch expected;
    for (const RollupSummary& s : reader->hours()) {
      const auto& hour = day.hours[s.hour_of_day];
      ASSERT_TRUE(hour.has_value());
      EXPECT_EQ(std::tuple(s.count, s.sum, s.min, s.max, s.covered, s.first, s.last),
                std::tuple(hour->count, hour->sum, hour->min, hour->max, hour->covered, hour->first, hour->last));
      if (mask >> s.hour_of_day & 1) expected.merge(hour->sketch);
    }
    SketchAccumulator sum;
    ASSERT_TRUE(reader->add_sketches(sum, mask).ok());
    const Sketch read = sum.take();
    EXPECT_EQ(read.count(), expected.count());
    ASSERT_EQ(read.bins().size(), expected.bins().size());
    for (size_t i = 0; i < read.bins().size(); ++i)
      EXPECT_EQ(read.bins()[i].key, expected.bins()[i].key);
  }
}

}  // namespace
}  // namespace stint
