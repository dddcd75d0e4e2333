// Pools of replicas, against published values, arithmetic and requests simulated one by one.
#include "batching/replica_pool.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "batching/testing_pool.h"

namespace stint::batching {
namespace {

double p99(const ReplicaPool& pool, double busy) {
  const PoolLevel level{busy, 1};
  return slowest_response(pool, {&level, 1}, 100);
}

// One replica: the chance is its load. Two at load 1: 1/3. Ten at 8: 0.409, the value of Erlang's C in tables.
TEST(ReplicaPool, ChanceOfWaitingIsErlangs) {
  EXPECT_NEAR(chance_of_waiting(1, 0.3), 0.3, 1e-12);
  EXPECT_NEAR(chance_of_waiting(2, 1), 1.0 / 3, 1e-12);
  EXPECT_NEAR(chance_of_waiting(10, 8), 0.409, 5e-4);
  EXPECT_EQ(chance_of_waiting(4, 4), 1);
  EXPECT_EQ(chance_of_waiting(4, 0), 0);
}

// M/M/1: exponential with rate 1 − ρ, so p99 = ln 100/(1 − ρ) and the mean 1/(1 − ρ).
TEST(ReplicaPool, OneReplicaWithExponentialTimesIsMM1) {
  const ReplicaPool pool{1, WorkTimes::kExponential};
  EXPECT_NEAR(p99(pool, 0.6), std::log(100.0) / 0.4, 1e-3);
  EXPECT_NEAR(mean_response(pool, 0.6), 2.5, 1e-12);
}

// M/D/1 at 0.5: the wait is no longer than x < 1 with the chance 0.5·e^{x/2}, and ρ/2(1−ρ) on average (Pollaczek–Khinchine).
TEST(ReplicaPool, OneReplicaWithEqualTimesIsMD1) {
  const ReplicaPool pool{1, WorkTimes::kEqual};
  EXPECT_NEAR(chance_beyond(pool, 0.5, 1.8), 1 - 0.5 * std::exp(0.4), 1e-9);
  EXPECT_EQ(chance_beyond(pool, 0.5, 0.9), 1);
  EXPECT_NEAR(mean_response(pool, 0.5), 1.5, 1e-12);
  // The exact sum and the exponential tail meet.
  EXPECT_NEAR(chance_beyond(pool, 0.7, 5.999) / chance_beyond(pool, 0.7, 6.001), 1, 0.01);
}

TEST(ReplicaPool, WhoeverFindsAFreeReplicaTakesTheTimeOfTheWorkAlone) {
  EXPECT_NEAR(p99({16, WorkTimes::kEqual}, 3), 1, 1e-6);
  EXPECT_NEAR(p99({16, WorkTimes::kExponential}, 3), std::log(100.0), 1e-3);
}

TEST(ReplicaPool, LevelsMixByTheirRequests) {
  const ReplicaPool pool{1, WorkTimes::kExponential};
  const PoolLevel levels[] = {{0.2, 0.2}, {0.8, 0.8}};
  const double t = slowest_response(pool, levels, 100);
  EXPECT_NEAR(0.2 * std::exp(-0.8 * t) + 0.8 * std::exp(-0.2 * t), 0.01, 1e-6);
  const PoolLevel broken[] = {{0.2, 0.98}, {1.2, 0.02}};
  EXPECT_EQ(slowest_response(pool, broken, 100), std::numeric_limits<double>::infinity());
}

TEST(ReplicaPool, ABatchingReplicaThatIsNeverBusyAnswersInTheTimeOfABatchOfOne) {
  const BatchingReplica replica{{10, 12, 14, 16}};
  EXPECT_NEAR(most_per_second(replica), 250, 1e-9);
  EXPECT_NEAR(slowest_response_ms(replica, 0.01, 100), 10, 1e-9);
  EXPECT_NEAR(mean_response_ms(replica, 0.01), 10, 0.01);
}

// A batch of one is M/D/1.
TEST(ReplicaPool, BatchesOfOneAreMD1) {
  EXPECT_NEAR(mean_response_ms({{10}}, 60), 10 * (1 + 0.6 / 0.8), 0.1);
  EXPECT_NEAR(slowest_response_ms({{10}}, 60, 100), 10 * p99({1, WorkTimes::kEqual}, 0.6), 1);
}

// The goal: each of 200 random services within 10 %, simulated request by request.
TEST(ReplicaPool, PredictsP99OfRandomServices) {
  Prng prng(20);
  for (uint64_t i = 0; i < 200; ++i) {
    const TestService s = random_service(prng);
    const PoolComparison c = compare_p99(s, 1000 + i);
    EXPECT_LE(std::abs(c.error()), 0.10) << "seed 20, service " << i << ": " << s.kind << ", " << s.replicas << " replicas, "
                                         << s.busy_share << " busy, " << s.burst_share << " in bursts, batches up to "
                                         << s.batch_ms.size() << ": " << c.predicted << " ms predicted, " << c.simulated
                                         << " simulated";
  }
}

}  // namespace
}  // namespace stint::batching
