#include "batching/batch_table.h"

#include <gtest/gtest.h>

#include "batching/testing_pool.h"

namespace stint::batching {
namespace {

const BatchingReplica kEight{{10, 11, 12, 13, 14, 15, 16, 17}};

double p99(const BatchTable& table, double share) {
  double low = 1, high = 1000;
  for (int i = 0; i < 60; ++i)
    (table.chance_beyond(share, (low + high) / 2) > 0.01 ? low : high) = (low + high) / 2;
  return high;
}

// Batches of one: what it is busy is what it can take, and its queue is M/D/1.
TEST(BatchTable, OfBatchesOfOneIsAsBusyAsItIsAsked) {
  const BatchTable table({{10}});
  for (const double share : {0.1, 0.33, 0.5, 0.8, 0.94}) {
    EXPECT_NEAR(table.busy_at(share), share, 0.01);
    EXPECT_NEAR(table.share_at(share), share, 0.01);
  }
  EXPECT_NEAR(p99(table, 0.6), slowest_response({1, WorkTimes::kEqual}, std::vector<PoolLevel>{{0.6, 1}}, 100), 0.1);
}

// Alone a request takes 10 ms, eight together 17: at 60 % of the time busy there are mostly single requests, 6 to 8 in 100 ms of the 47 it can take.
TEST(BatchTable, ABusyReplicaHasRoomWhileItsBatchesAreSmall) {
  const BatchTable table(kEight);
  const double share = table.share_at(0.6);
  EXPECT_GT(share, 0.6 * 17 / (8 * 10.0) * 0.95);
  EXPECT_LT(share, 0.2);
  EXPECT_NEAR(table.busy_at(share), 0.6, 1e-9);
  EXPECT_EQ(table.share_at(0), 0);
  EXPECT_NEAR(table.share_at(1), 1, 1e-9);
  for (double busy = 0; busy < 1; busy += 0.05)
    EXPECT_LE(table.share_at(busy), table.share_at(busy + 0.05));
}

TEST(BatchTable, AgreesWithRequestsSimulatedOneByOne) {
  const BatchTable table(kEight);
  for (const double share : {0.125, 0.4, 0.73, 0.9}) {
    TestService service;
    service.batch_ms = kEight.batch_ms;
    service.busy_share = share;
    EXPECT_NEAR(p99(table, share) * 10 / compare_p99(service, 11).simulated, 1, 0.1) << share;
  }
  EXPECT_EQ(table.chance_beyond(0.99, 1e6), 1) << "cannot keep up";
  EXPECT_EQ(table.chance_beyond(0, 1), 0);
}

}  // namespace
}  // namespace stint::batching
