#include "telemetry/rollup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/prng.h"

namespace stint {
namespace {

/// Nearest rank on the sorted samples themselves.
double exact_quantile(std::vector<double> samples, double q) {
  std::sort(samples.begin(), samples.end());
  const auto rank = static_cast<size_t>(std::max(1.0, std::ceil(q * static_cast<double>(samples.size()))));
  return samples[rank - 1];
}

Sketch sketch_of(Metric metric, const std::vector<double>& values) {
  Sketch s;
  for (const double v : values)
    s.add(metric, v);
  return s;
}

std::vector<std::pair<int32_t, uint32_t>> bins_of(const Sketch& s) {
  std::vector<std::pair<int32_t, uint32_t>> out;
  for (const auto& bin : s.bins())
    out.emplace_back(bin.key, bin.count);
  return out;
}

TEST(Sketch, EmptyHasNoQuantile) {
  EXPECT_EQ(Sketch().quantile(Metric::kPower, 0.5), std::nullopt);
  EXPECT_EQ(Sketch().fraction_at_most(Metric::kPower, 10), 0);
}

TEST(Sketch, WholePercentsAreExact) {
  Sketch s;
  for (int p = 1; p <= 100; ++p)
    s.add(Metric::kUtilization, p);
  EXPECT_EQ(s.quantile(Metric::kUtilization, 0.95), 95);
  EXPECT_EQ(s.quantile(Metric::kUtilization, 0.0), 1);
  EXPECT_EQ(s.quantile(Metric::kUtilization, 1.0), 100);
  EXPECT_DOUBLE_EQ(s.fraction_at_most(Metric::kUtilization, 30), 0.30);
}

TEST(Sketch, QuantilesStayWithinTheGrid) {
  constexpr uint64_t kSeed = 20261;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  Prng prng(kSeed);
  for (int round = 0; round < 50; ++round) {
    const size_t n = 1 + prng.below(500);
    std::vector<double> percents;
    std::vector<double> bytes;
    std::vector<double> signed_values;
    for (size_t i = 0; i < n; ++i) {
      percents.push_back(prng.uniform() * 100);
      bytes.push_back(std::exp(prng.uniform() * 60 - 20));
      signed_values.push_back(prng.normal() * 50);
    }
    const Sketch p = sketch_of(Metric::kSmActive, percents);
    const Sketch b = sketch_of(Metric::kMemoryUsed, bytes);
    const Sketch s = sketch_of(Metric::kTemperature, signed_values);
    for (const double q : {0.0, 0.01, 0.25, 0.5, 0.9, 0.95, 0.99, 1.0}) {
      EXPECT_NEAR(*p.quantile(Metric::kSmActive, q), exact_quantile(percents, q), 0.25 + 1e-9);
      const double bytes_exact = exact_quantile(bytes, q);
      EXPECT_NEAR(*b.quantile(Metric::kMemoryUsed, q), bytes_exact, bytes_exact * 0.01 * (1 + 1e-6));
      const double signed_exact = exact_quantile(signed_values, q);
      EXPECT_NEAR(*s.quantile(Metric::kTemperature, q), signed_exact, std::abs(signed_exact) * 0.01 * (1 + 1e-6));
    }
  }
}

TEST(Sketch, ZeroAndExtremesHaveTheirPlaces) {
  const std::vector<double> values = {-1e300, -5e-324, 0, 5e-324, 1.7e308};
  const Sketch s = sketch_of(Metric::kPower, values);
  ASSERT_EQ(s.bins().size(), 5U);
  EXPECT_EQ(s.quantile(Metric::kPower, 0.6), 0);
  EXPECT_NEAR(*s.quantile(Metric::kPower, 0.0) / -1e300, 1, 0.0101);
  EXPECT_NEAR(*s.quantile(Metric::kPower, 1.0) / 1.7e308, 1, 0.0101);
}

TEST(Sketch, AddAllEqualsAddOneByOne) {
  constexpr uint64_t kSeed = 77;
  Prng prng(kSeed);
  for (const Metric metric : {Metric::kUtilization, Metric::kPower}) {
    for (const double spread : {1.0, 100.0, 1e12}) {
      std::vector<float> values;
      Sketch one_by_one;
      for (int i = 0; i < 300; ++i) {
        values.push_back(static_cast<float>(std::floor(prng.uniform() * spread)));
        one_by_one.add(metric, static_cast<double>(values.back()));
      }
      Sketch at_once;
      at_once.add_all(metric, std::span(values).first(100));
      at_once.add_all(metric, std::span(values).subspan(100));
      at_once.add_all(metric, {});
      EXPECT_EQ(bins_of(at_once), bins_of(one_by_one)) << "seed " << kSeed << " spread " << spread;
      EXPECT_EQ(at_once.count(), 300U);
    }
  }
}

TEST(Sketch, MergeIsCommutativeAndAssociative) {
  constexpr uint64_t kSeed = 4;
  Prng prng(kSeed);
  const auto draw = [&] {
    std::vector<double> values(prng.below(80));
    for (double& v : values)
      v = prng.uniform() * 100;
    return sketch_of(Metric::kUtilization, values);
  };
  for (int round = 0; round < 100; ++round) {
    const Sketch a = draw();
    const Sketch b = draw();
    const Sketch c = draw();
    Sketch ab = a;
    ab.merge(b);
    Sketch ba = b;
    ba.merge(a);
    EXPECT_EQ(bins_of(ab), bins_of(ba)) << "seed " << kSeed;
    Sketch ab_c = ab;
    ab_c.merge(c);
    Sketch bc = b;
    bc.merge(c);
    Sketch a_bc = a;
    a_bc.merge(bc);
    EXPECT_EQ(bins_of(ab_c), bins_of(a_bc)) << "seed " << kSeed;
    EXPECT_EQ(ab_c.count(), a.count() + b.count() + c.count());
    SketchAccumulator sum;
    for (const Sketch& s : {c, a, b})
      sum.add(s);
    EXPECT_EQ(bins_of(sum.take()), bins_of(ab_c)) << "seed " << kSeed;
    EXPECT_EQ(sum.take().count(), 0U);
  }
}

/// A rollup of `values` one minute apart from `minute` of hour 480,000 on.
Rollup rollup_at(int minute, const std::vector<double>& values) {
  Rollup r;
  r.count = static_cast<uint32_t>(values.size());
  for (const double v : values)
    r.sum += v;
  r.min = *std::min_element(values.begin(), values.end());
  r.max = *std::max_element(values.begin(), values.end());
  r.first = Instant::from_hour_index(480'000) + Duration::minutes(minute);
  r.last = r.first + Duration::minutes(static_cast<int64_t>(values.size()) - 1);
  r.covered = Duration::minutes(static_cast<int64_t>(values.size()));
  r.sketch = sketch_of(Metric::kUtilization, values);
  return r;
}

RollupDay day_with(const Rollup& r) {
  RollupDay day;
  day.day_index = 20'000;
  day.hours[0] = r;
  return day;
}

TEST(Rollup, DisjointSpansAddUpInAnyOrder) {
  const Rollup a = rollup_at(0, {10, 20});
  const Rollup b = rollup_at(10, {90});
  const Rollup c = rollup_at(30, {0, 0, 50});
  Rollup ab_c = a;
  ab_c.merge(b);
  ab_c.merge(c);
  Rollup bc = c;
  bc.merge(b);
  Rollup bc_a = bc;
  bc_a.merge(a);
  EXPECT_EQ(encode(day_with(ab_c)), encode(day_with(bc_a)));
  EXPECT_EQ(ab_c.count, 6U);
  EXPECT_DOUBLE_EQ(ab_c.mean(), 170.0 / 6);
  EXPECT_EQ(ab_c.covered, Duration::minutes(6));
  EXPECT_EQ(ab_c.last, c.last);
}

TEST(Rollup, OverlapKeepsTheBetterCovered) {
  const Rollup dense = rollup_at(0, {10, 20, 30});
  const Rollup sparse = rollup_at(1, {99});
  Rollup r = sparse;
  r.merge(dense);
  EXPECT_EQ(r.sum, 60);
  r.merge(sparse);
  EXPECT_EQ(r.sum, 60);
  Rollup tie = rollup_at(0, {1, 2, 3});
  tie.merge(dense);
  EXPECT_EQ(tie.sum, 6);
}

TEST(Rollup, MergeWithNothingChangesNothing) {
  Rollup r = rollup_at(5, {42});
  r.merge(Rollup{});
  EXPECT_EQ(r.count, 1U);
  Rollup empty;
  empty.merge(r);
  EXPECT_EQ(empty.first, r.first);
  EXPECT_EQ(empty.min, 42);
}

TEST(Rollup, CoverageNeverExceedsTheHour) {
  Rollup a = rollup_at(0, {1});
  Rollup b = rollup_at(50, {1});
  a.covered = b.covered = Duration::minutes(45);
  a.merge(b);
  EXPECT_EQ(a.covered, kHour);
}

}  // namespace
}  // namespace stint
