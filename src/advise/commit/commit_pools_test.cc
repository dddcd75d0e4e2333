#include "advise/commit/commit_pools.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

NodeFacts node(std::string type, Market market, std::vector<int> seconds, int64_t cents_per_hour) {
  NodeFacts facts;
  facts.provider = "aws";
  facts.region = "us-east-1";
  facts.instance_type = std::move(type);
  facts.market = market;
  int64_t sum = 0;
  for (const int s : seconds) {
    facts.timeline.push_back({.on_s = static_cast<uint16_t>(s)});
    sum += s;
  }
  facts.hours = static_cast<double>(sum) / 3600;
  facts.compute = scale(Money::nanos(cents_per_hour * 10'000'000), sum, 3600);
  facts.priced = true;
  return facts;
}

FleetFacts fleet(std::vector<NodeFacts> nodes) {
  FleetFacts facts{.period = {Instant(), Instant::from_hour_index(4)},
                   .months = BillingMonths({Instant(), Instant::from_hour_index(4)})};
  facts.hour_count = 4;
  facts.nodes = std::move(nodes);
  return facts;
}

TEST(CommitPools, CountWhatRanOnDemandInWholeInstances) {
  // Half an hour of one and an hour of the other is one instance; what is on spot is no demand.
  const CommitPools pools = commit_pools(fleet({node("p3.2xlarge", Market::kOnDemand, {3600, 3600, 1800, 0}, 306),
                                                node("p3.2xlarge", Market::kOnDemand, {3600, 0, 3600, 1800}, 306),
                                                node("p3.2xlarge", Market::kSpot, {3600, 3600, 3600, 3600}, 92)}),
                                         Catalog::built_in(), CommitmentTerm::kOneYear);
  ASSERT_EQ(pools.pools.size(), 1U);
  const CommitPool& pool = pools.pools[0];
  EXPECT_EQ(pool.type.demand, (HourlyDemand{2, 1, 1, 0}));
  EXPECT_EQ(pool.type.on_demand, Money::nanos(3'060'000'000));
  EXPECT_EQ(pool.nodes, 2);
  EXPECT_EQ(pools.notes.size(), 1U);
  // The catalogue's: 1.82 for a year, nothing upfront.
  ASSERT_EQ(pool.type.offers.size(), 1U);
  EXPECT_EQ(pool.type.offers[0].hourly, Money::nanos(1'820'000'000));
  EXPECT_EQ(pool.type.offers[0].term_hours, 8760);
}

TEST(CommitPools, TakeTheTermsThatMayBeBought) {
  FleetFacts facts = fleet({node("a2-highgpu-1g", Market::kOnDemand, {3600, 3600, 3600, 3600}, 367)});
  facts.nodes[0].provider = "gcp";
  facts.nodes[0].region = "us-central1";
  EXPECT_EQ(commit_pools(facts, Catalog::built_in(), CommitmentTerm::kOneYear).pools[0].type.offers.size(), 1U);
  EXPECT_EQ(commit_pools(facts, Catalog::built_in(), CommitmentTerm::kThreeYears).pools[0].type.offers.size(), 2U);
}

TEST(CommitPools, ASavingsPlanTakesItsDiscountOffEveryType) {
  const CommitPools pools = commit_pools(fleet({node("p3.2xlarge", Market::kOnDemand, {3600, 3600, 3600, 3600}, 300)}),
                                         Catalog::built_in(), CommitmentTerm::kOneYear);
  EXPECT_FALSE(portfolio_types(pools, {})[0].plan_rate.has_value());
  EXPECT_EQ(portfolio_types(pools, 20)[0].plan_rate, Money::nanos(2'400'000'000));
}

}  // namespace
}  // namespace stint
