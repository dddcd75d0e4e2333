#include "sim/faults.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "sim/market.h"

namespace stint::sim {
namespace {

const Instant kBegin = Instant::from_seconds(1'000'000);

std::vector<SimNode> nodes(size_t count, Market market) {
  std::vector<SimNode> all(count);
  for (SimNode& n : all) {
    n.node.gpus = 8;
    n.market = market;
  }
  return all;
}

TEST(Faults, AsManyFailuresAsTheMeanTimeBetweenThemSays) {
  FaultModel model;
  model.node_mtbf = Duration::hours(100);
  model.repair_mean = Duration::hours(10);
  // Per node a cycle of 110 h: 200 nodes over 1,100 h see 2,000 failures, give or take some 45.
  const auto outages = draw_outages(model, nodes(200, Market::kOwned), {kBegin, kBegin + Duration::hours(1'100)}, 42);
  EXPECT_NEAR(static_cast<double>(outages.size()), 2'000, 180);
  double repair_h = 0;
  for (const Outage& o : outages) {
    EXPECT_EQ(o.notice, o.down);
    repair_h += (o.up - o.down).to_hours();
  }
  EXPECT_NEAR(repair_h / static_cast<double>(outages.size()), 10, 1);
}

TEST(Faults, WeibullKeepsTheMeanAndCrowdsTheStart) {
  Prng prng(5);
  double sum_h = 0;
  int early = 0;
  for (int i = 0; i < 20'000; ++i) {
    const double hours = draw_weibull(prng, Duration::hours(10), 0.7).to_hours();
    sum_h += hours;
    early += hours < 1 ? 1 : 0;
  }
  EXPECT_NEAR(sum_h / 20'000, 10, 0.4);
  // F(1 h) = 1 − exp(−(1/λ)^0.7) with λ = 10 / Γ(1 + 1/0.7) = 7.90 h: 21 %; exponential would be 9.5 %.
  EXPECT_NEAR(early / 20'000.0, 1 - std::exp(-std::pow(std::tgamma(1 + 1 / 0.7) / 10, 0.7)), 0.01);
}

TEST(Faults, SpotNodesAloneAreInterruptedWithNoticeAndComeBackProvisioned) {
  FaultModel model;
  model.spot_per_hour = 0.5;
  const Interval week{kBegin, kBegin + Duration::hours(168)};
  EXPECT_TRUE(draw_outages(model, nodes(5, Market::kOnDemand), week, 1).empty());
  const auto outages = draw_outages(model, nodes(5, Market::kSpot), week, 1);
  ASSERT_FALSE(outages.empty());
  for (const Outage& o : outages) {
    EXPECT_EQ(o.down - o.notice, Duration::minutes(2));
    EXPECT_GT(o.up - o.down, Duration::minutes(5));
  }
  Workload w;
  w.nodes = nodes(5, Market::kSpot);
  w.outages = outages;
  EXPECT_TRUE(check_workload(w).ok());
}

TEST(Faults, AnotherNodeChangesNothingForTheRest) {
  FaultModel model;
  model.node_mtbf = Duration::hours(50);
  const Interval month{kBegin, kBegin + Duration::hours(720)};
  const auto few = draw_outages(model, nodes(3, Market::kOwned), month, 9);
  auto more = draw_outages(model, nodes(4, Market::kOwned), month, 9);
  std::erase_if(more, [](const Outage& o) { return o.node == NodeId(3); });
  EXPECT_EQ(few, more);
}

TEST(Faults, InterruptionsComeAtTheRateAndEndLikeOtherAbsences) {
  // Available for 20 h, away for 2 + 0.05 + 2/60 h: 4,000 nodes-times-weeks of 168 h see 168 / 22.1 each; a Poisson process
  // whose shocks in absences pass by has that rate.
  const FaultModel model{.spot_per_hour = 1.0 / 20, .spot_return_mean = Duration::hours(2)};
  const double cycle_h = 20 + 2 + model.provisioning.to_hours() + model.spot_notice.to_hours();
  double count = 0;
  double away_h = 0;
  for (int n = 0; n < 400; ++n)
    for (const Outage& o :
         draw_interruptions(model, NodeId(0), fmt::format("n{}", n), {kBegin, kBegin + Duration::hours(1680)}, 3)) {
      ++count;
      away_h += (o.up - o.notice).to_hours();
      EXPECT_EQ(o.down - o.notice, model.spot_notice);
    }
  EXPECT_NEAR(count / (400 * 1680 / cycle_h), 1, 0.02);
  EXPECT_NEAR(away_h / count, cycle_h - 20, 0.05);
}

TEST(Faults, AnInterruptionHitsItsNodeWheneverThePlanBeginsAndWhateverTheNodesNumberIs) {
  const FaultModel model{.spot_per_hour = 1.0 / 5};
  const Instant end = kBegin + Duration::hours(720);
  const auto early = draw_interruptions(model, NodeId(3), "spot-a", {kBegin, end}, 9);
  const auto late = draw_interruptions(model, NodeId(0), "spot-a", {kBegin + Duration::hours(77), end}, 9);
  std::set<Instant> hits;
  for (const Outage& o : early)
    hits.insert(o.notice);
  // An absence that began before the later start hides a shock from one of them; after the first that both meet they are alike.
  size_t alike = 0;
  for (const Outage& o : late)
    if (hits.contains(o.notice)) ++alike;
  ASSERT_GT(late.size(), 50U);
  EXPECT_GE(alike + 1, late.size());
  EXPECT_NE(draw_interruptions(model, NodeId(3), "spot-b", {kBegin, end}, 9).front().notice, early.front().notice);
  EXPECT_NE(draw_interruptions(model, NodeId(3), "spot-a", {kBegin, end}, 10).front().notice, early.front().notice);
}

TEST(Market, PricesStayBetweenFloorAndOnDemandAndReturnToTheirMean) {
  SpotMarket market;
  market.on_demand = Rate::per_hour(Money::units(10));
  const Interval year{kBegin, kBegin + Duration::hours(8'760)};
  const PriceSeries series = draw_prices(market, year, 3, "spot");
  double sum = 0;
  for (size_t i = 0; i < series.points.size(); ++i) {
    const double price = series.points[i].rate.per_hour().to_double();
    EXPECT_GE(price, 1.0 - 1e-9);
    EXPECT_LE(price, 10.0 + 1e-9);
    const Instant until = i + 1 < series.points.size() ? series.points[i + 1].from : year.end;
    sum += price * (until - series.points[i].from).to_hours();
  }
  // Mean of the logarithm is that of 4; its spread is 0.05 / sqrt(1 − 0.95²) = 0.16, which lifts the mean by 1.3 %.
  EXPECT_NEAR(sum / 8'760, 4.05, 0.25);
}

}  // namespace
}  // namespace stint::sim
