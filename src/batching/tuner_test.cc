#include "batching/tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "batching/testing_batches.h"

namespace stint::batching {
namespace {

using ::testing::HasSubstr;

Rate dollars(int64_t n) { return Rate::per_hour(Money::units(n)); }

/// base + each × batch, ± 10 %, measured at 1, 2, 4, …
DeviceProfile device(std::string name, Duration base, Duration each, int64_t largest, int64_t price = 1) {
  std::vector<MeasuredBatch> measured;
  for (int64_t batch = 1; batch <= largest; batch *= 2) {
    MeasuredBatch point{batch, {}};
    for (int64_t k = 90; k <= 110; ++k)
      point.times.push_back(Duration::nanoseconds((base + each * batch).count_ns() / 100 * k));
    measured.push_back(point);
  }
  return {std::move(name), dollars(price), 1, LatencyProfile::create(std::move(measured)).value()};
}

TuneOptions asking(double per_second, Duration limit) {
  TuneOptions options;
  options.per_second = per_second;
  options.promise.limit = limit;
  options.runs = 10;
  options.requests = 4000;
  return options;
}

TEST(Tuner, BatchesWhereItSavesReplicas) {
  // One at a time a replica does 1/11 ms = 91/s; a batch of 16 takes 26 ms = 615/s.
  const Tuning tuning = tune({device("gpu", ms(10), ms(1), 16)}, asking(500, ms(100))).value();
  ASSERT_TRUE(tuning.best);
  const DeviceTuning& d = tuning.devices[0];
  EXPECT_EQ(d.answer->replicas, 1);
  EXPECT_GE(d.answer->setup.max_batch, 8);  // 8 in 18 ms: 444/s are too few; 16 are needed or what lies between
  EXPECT_EQ(d.answer->kept_share, 1);
  EXPECT_GE(d.most_per_second, 500);
  EXPECT_LE(d.most_per_second, 616);
  // 1 USD an hour over 1.8 M requests.
  EXPECT_NEAR(d.per_million.to_double(), 1 / 1.8, 1e-6);
}

TEST(Tuner, DoesNotBatchWhereItGainsNothing) {
  // A convolution on a CPU: twice the batch, twice the time.
  const Tuning tuning = tune({device("cpu", Duration(), ms(2), 16)}, asking(300, ms(40))).value();
  ASSERT_TRUE(tuning.best);
  EXPECT_EQ(tuning.devices[0].answer->replicas, 1);
  EXPECT_LE(tuning.devices[0].answer->setup.max_batch, 2);
}

TEST(Tuner, OneReplicaGetsTheBestItCan) {
  const DeviceProfile gpu = device("gpu", ms(10), ms(1), 16);
  // 8 in 18 ms are 444/s.
  EXPECT_EQ(best_setup(gpu, asking(500, ms(100)))->max_batch, 16);
  EXPECT_EQ(best_setup(gpu, asking(1e6, ms(100)))->max_batch, 16) << "no set-up can: it answers what it can";
  EXPECT_FALSE(best_setup(gpu, asking(5, ms(11)))) << "one alone is late";
}

TEST(Tuner, PromiseShorterThanOneRequestIsExplained) {
  const Tuning tuning = tune({device("gpu", ms(10), ms(1), 16)}, asking(500, ms(11))).value();
  EXPECT_FALSE(tuning.best);
  EXPECT_THAT(tuning.devices[0].reason, HasSubstr("one request alone takes 12.1 ms"));
}

TEST(Tuner, TooFewReplicasAreExplained) {
  TuneOptions options = asking(5000, ms(100));
  options.most_replicas = 4;
  const Tuning tuning = tune({device("gpu", ms(10), ms(1), 16)}, options).value();
  EXPECT_FALSE(tuning.best);
  EXPECT_THAT(tuning.devices[0].reason,
              HasSubstr("at most 615.4 requests/s (batches of 16, 26 ms each), so 5000/s need 9 replicas"));
}

TEST(Tuner, AServersConnectionsBoundWhatItIsPromisedFor) {
  DeviceProfile quick =
      device("cpu", Duration::nanoseconds(10'000), Duration::nanoseconds(1'000), 32);  // 761,900/s in batches of 32
  quick.front = Duration::nanoseconds(70'000);                                         // 0.7 of 14,286/s
  const Tuning tuning = tune({quick}, asking(15'000, ms(20))).value();
  ASSERT_TRUE(tuning.best);
  EXPECT_EQ(tuning.devices[0].answer->replicas, 2);
  EXPECT_LE(tuning.devices[0].most_per_second, 20'000);
  TuneOptions one = asking(15'000, ms(20));
  one.most_replicas = 1;
  EXPECT_THAT(tune({quick}, one)->devices[0].reason,
              HasSubstr("at most 1e+04 requests/s (HTTP and copies take 70 us each), so 15000/s need 2 replicas"));
}

TEST(Tuner, CheapestDeviceWins) {
  const Tuning tuning =
      tune({device("fast and dear", ms(5), ms(1), 16, 9), device("slow and cheap", ms(10), ms(1), 16, 2)}, asking(900, ms(100)))
          .value();
  ASSERT_TRUE(tuning.best);
  EXPECT_EQ(*tuning.best, 1U);
  EXPECT_EQ(tuning.devices[1].answer->replicas, 2);
  EXPECT_EQ(tuning.devices[1].cost, dollars(4));
}

TEST(Tuner, BurstsNeedMore) {
  TuneOptions even = asking(1500, ms(60));
  TuneOptions bursty = even;
  bursty.arrivals.kind = ArrivalPlan::Kind::kBursty;
  bursty.requests = even.requests = 8000;
  const DeviceProfile gpu = device("gpu", ms(10), ms(1), 16);
  EXPECT_GT(tune({gpu}, bursty)->devices[0].answer->replicas, tune({gpu}, even)->devices[0].answer->replicas);
}

TEST(Tuner, RefusesContradictoryOptions) {
  const DeviceProfile gpu = device("gpu", ms(10), ms(1), 16);
  EXPECT_FALSE(tune({}, asking(500, ms(50))).ok());
  EXPECT_FALSE(tune({gpu}, asking(0, ms(50))).ok());
  EXPECT_FALSE(tune({gpu}, asking(500, ms(0))).ok());
  TuneOptions rare = asking(500, ms(50));
  rare.promise.permille = 999;
  EXPECT_THAT(tune({gpu}, rare).error().message, HasSubstr("too few to see a promise"));
}

// The claim of the answer, checked with other seeds: kept there in at least 95 % of runs, broken at the neighbour in at least
// 90 %. bench/tuner_bench does the same with more cases and longer runs.
TEST(Tuner, PromiseIsKeptAtItsAnswerAndBrokenAtTheRefusedNeighbour) {
  Prng prng(2026);
  int64_t kept = 0, kept_runs = 0, broken = 0, broken_runs = 0;
  for (int i = 0; i < 4; ++i) {
    const Duration base = Duration::nanoseconds(static_cast<int64_t>(1'000'000 + prng.below(20'000'000)));
    const Duration each = Duration::nanoseconds(static_cast<int64_t>(50'000 + prng.below(3'000'000)));
    const DeviceProfile gpu = device("gpu", base, each, int64_t{1} << prng.below(6));
    const auto limit = Duration::nanoseconds((base + each).count_ns() * static_cast<int64_t>(15 + prng.below(60)) / 10);
    TuneOptions options = asking(100 + static_cast<double>(prng.below(500)), limit);
    options.most_replicas = 500;
    options.runs = 20;
    const Tuning tuning = tune({gpu}, options).value();
    ASSERT_TRUE(tuning.best) << "case " << i << ": " << tuning.devices[0].reason;
    const auto keeps = [&](const TunedSetup& s) {
      int64_t count = 0;
      for (uint64_t seed = 900; seed < 910; ++seed)
        count +=
            simulate_serving(gpu.latency, s.setup, {options.per_second, s.replicas}, options.promise, {options.requests, seed})
                .kept;
      return count;
    };
    kept += keeps(*tuning.devices[0].answer);
    kept_runs += 10;
    if (!tuning.devices[0].neighbour) continue;
    EXPECT_LT(tuning.devices[0].neighbour->replicas, tuning.devices[0].answer->replicas);
    broken += 10 - keeps(*tuning.devices[0].neighbour);
    broken_runs += 10;
  }
  EXPECT_GE(kept * 100, kept_runs * 95);
  EXPECT_GE(broken_runs, 20);
  EXPECT_GE(broken * 100, broken_runs * 90);
}

}  // namespace
}  // namespace stint::batching
