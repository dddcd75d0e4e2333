#include "batching/serving_sim.h"

#include <gtest/gtest.h>

#include <cmath>

#include "batching/testing_batches.h"

namespace stint::batching {
namespace {

LatencyProfile constant_profile(std::vector<std::pair<int64_t, Duration>> times) {
  std::vector<MeasuredBatch> measured;
  for (const auto& [batch, time] : times)
    measured.push_back({batch, {time}});
  return LatencyProfile::create(std::move(measured)).value();
}

TEST(LatencyProfile, LiesOnStraightLinesBetweenWhatWasMeasured) {
  const LatencyProfile p = LatencyProfile::create({{5, {ms(30), ms(10), ms(20)}}, {1, {ms(2), ms(4), ms(6)}}}).value();
  EXPECT_EQ(p.quantile(1, 0), ms(2));
  EXPECT_EQ(p.quantile(1, 0.75), ms(5));
  EXPECT_EQ(p.quantile(5, 0.5), ms(20));
  EXPECT_EQ(p.quantile(2, 0.5), ms(8));  // a quarter of the way from 4 to 20
  EXPECT_EQ(p.mean(1), ms(4));
  EXPECT_EQ(p.mean(3), ms(12));
}

TEST(LatencyProfile, LargerBatchesAreNeverFaster) {
  const LatencyProfile p = constant_profile({{1, ms(5)}, {2, ms(4)}, {4, ms(9)}});
  EXPECT_EQ(p.quantile(2, 0.5), ms(5));
  EXPECT_FALSE(LatencyProfile::create({{2, {ms(1)}}}).ok());
  EXPECT_FALSE(LatencyProfile::create({{1, {ms(1)}}, {1, {ms(2)}}}).ok());
  EXPECT_FALSE(LatencyProfile::create({{1, {Duration()}}}).ok());
}

double mean_rate(const ArrivalPlan& plan, int64_t replicas, int n = 200'000) {
  ArrivalStream stream(plan, 100, replicas, 7);
  Instant last;
  for (int i = 0; i < n; ++i)
    last = stream.next();
  return n / (last - Instant()).to_seconds();
}

TEST(Arrivals, ComeAtTheRateAskedFor) {
  ArrivalPlan poisson;
  EXPECT_NEAR(mean_rate(poisson, 1), 100, 1);
  EXPECT_NEAR(mean_rate(poisson, 4), 25, 0.25);
  ArrivalPlan bursty{
      .kind = ArrivalPlan::Kind::kBursty, .burst_factor = 4, .burst_share = 0.1, .burst_length = ms(200), .trace = {}};
  EXPECT_NEAR(mean_rate(bursty, 2), 50, 2);
  ArrivalPlan trace{.kind = ArrivalPlan::Kind::kTrace, .trace = {ms(1), ms(1), ms(10), ms(0)}};
  EXPECT_NEAR(mean_rate(trace, 1), 100, 0.1);
  EXPECT_NEAR(mean_rate(trace, 3), 100.0 / 3, 0.5);
}

TEST(Arrivals, BurstsCrowd) {
  // Windows of 100 ms at 100/s: Poisson counts have the variance 10; bursts of 1 s at three times the rate far more.
  const auto variance = [](const ArrivalPlan& plan) {
    ArrivalStream stream(plan, 100, 1, 3);
    std::vector<double> counts(20'000);
    for (Instant t = stream.next(); t.ns() / 100'000'000 < 20'000; t = stream.next())
      ++counts[static_cast<size_t>(t.ns() / 100'000'000)];
    double sum = 0, squares = 0;
    for (const double c : counts)
      sum += c, squares += c * c;
    const double mean = sum / 20'000;
    return squares / 20'000 - mean * mean;
  };
  EXPECT_NEAR(variance({}), 10, 1);
  EXPECT_GT(variance({.kind = ArrivalPlan::Kind::kBursty, .trace = {}}), 30);
}

TEST(Arrivals, RefusesWhatMakesNoSense) {
  EXPECT_FALSE(check_arrivals({.kind = ArrivalPlan::Kind::kBursty, .burst_factor = 10, .burst_share = 0.1, .trace = {}}).ok());
  EXPECT_FALSE(check_arrivals({.kind = ArrivalPlan::Kind::kTrace, .trace = {}}).ok());
  EXPECT_FALSE(check_arrivals({.kind = ArrivalPlan::Kind::kTrace, .trace = {ms(1), ms(-1)}}).ok());
}

/// Chance that a request of an M/D/1 queue waits at most t (Erlang 1909).
double md1_waits_at_most(double rate, double service, double t) {
  double sum = 0;
  double factorial = 1;
  for (int k = 0; k * service <= t; ++k) {
    if (k > 0) factorial *= k;
    sum += std::pow(-rate * (t - k * service), k) / factorial * std::exp(rate * (t - k * service));
  }
  return (1 - rate * service) * sum;
}

TEST(ServingSim, OneAtATimeIsErlangsQueue) {
  const LatencyProfile profile = constant_profile({{1, ms(10)}});
  for (const double per_second : {30.0, 60.0, 75.0}) {
    const ServingRun run = simulate_serving(profile, {1, {}, 1}, {per_second, 1}, {ms(10'000), 990}, {150'000, 5});
    EXPECT_NEAR(md1_waits_at_most(per_second, 0.01, run.at_promise.to_seconds() - 0.01), 0.99, 0.0025) << per_second;
    EXPECT_NEAR(run.busy, per_second / 100, 0.01);
    EXPECT_TRUE(run.kept);
  }
}

TEST(ServingSim, ReplicasShareTheLoad) {
  const LatencyProfile profile = constant_profile({{1, ms(10)}});
  const ServingRun run = simulate_serving(profile, {1, {}, 1}, {240, 4}, {ms(10'000), 990}, {100'000, 5});
  EXPECT_NEAR(md1_waits_at_most(60, 0.01, run.at_promise.to_seconds() - 0.01), 0.99, 0.002);
}

TEST(ServingSim, BatchesCarryWhatOneAtATimeCannot) {
  const LatencyProfile profile = constant_profile({{1, ms(10)}, {8, ms(17)}});
  EXPECT_FALSE(simulate_serving(profile, {1, {}, 1}, {200, 1}, {ms(50), 990}, {20'000, 5}).kept);
  const ServingRun batched = simulate_serving(profile, {8, {}, 1}, {200, 1}, {ms(50), 990}, {20'000, 5});
  EXPECT_TRUE(batched.kept);
  EXPECT_GT(batched.mean_batch, 1.5);
}

TEST(ServingSim, WaitingAddsTheWaitWhereThereIsNoCompany) {
  const LatencyProfile profile = constant_profile({{1, ms(10)}, {8, ms(10)}});
  const ServingRun run = simulate_serving(profile, {8, ms(20), 1}, {0.1, 1}, {ms(50), 990}, {1000, 5});
  EXPECT_EQ(run.median, ms(30));
}

}  // namespace
}  // namespace stint::batching
