#include "sched/spot/regions.h"

#include <gtest/gtest.h>

#include "sched/spot/regions_uniform.h"

namespace stint::sched {
namespace {

using Kind = RegionsAct::Kind;

constexpr Rate usd(int64_t units) { return Rate::per_hour(Money::units(units)); }

/// 10 h of work in 12 h, ticks of 10 minutes, a changeover of 12. Zones a and b lie in one region.
RegionsTask ten_in_twelve() {
  RegionsTask task{.tick_s = 600, .deadline_ticks = 72, .work_s = 36'000, .changeover_s = 720, .probe_s = 60};
  task.zones = {{usd(20), usd(80), 0}, {usd(18), usd(80), 0}, {usd(19), usd(75), 1}};
  for (const uint32_t from : {0U, 0U, 1U})
    for (const uint32_t to : {0U, 0U, 1U})
      task.fetch_costs.push_back(Money::units(from == to ? 0 : 1));
  return task;
}

RegionsMoment moment(int64_t tick, double work_left_s, SpotTake held, size_t zone = 0) {
  return {.tick = tick, .work_left_s = work_left_s, .held = held, .zone = zone, .checkpointed = zone};
}

TEST(Regions, RefusesTasksThatNothingCanFinish) {
  EXPECT_TRUE(ten_in_twelve().check().ok());
  const auto broken = [](auto&& change) {
    RegionsTask task = ten_in_twelve();
    change(task);
    return !task.check().ok();
  };
  EXPECT_TRUE(broken([](RegionsTask& t) { t.zones.clear(); }));
  EXPECT_TRUE(broken([](RegionsTask& t) { t.fetch_costs.pop_back(); }));
  EXPECT_TRUE(broken([](RegionsTask& t) { t.fetch_costs[1] = Money::nanos(-1); }));
  EXPECT_TRUE(broken([](RegionsTask& t) { t.zones[1].spot = {}; }));
  EXPECT_TRUE(broken([](RegionsTask& t) { t.tick_s = 0; }));
  EXPECT_TRUE(broken([](RegionsTask& t) { t.probe_s = 601; }));
  EXPECT_TRUE(broken([](RegionsTask& t) { t.work_s = 43'200 - 719; })) << "72 ticks less a changeover";
  EXPECT_FALSE(broken([](RegionsTask& t) { t.work_s = 43'200 - 720; }));
}

// 36,000 s and a changeover take 62 ticks (61.2 rounded up): they begin at tick 10 at the latest.
TEST(Regions, TheSafetyNetTakesOverInTheLastTickThatIsEarlyEnough) {
  const RegionsTask task = ten_in_twelve();
  const RegionsSafetyNet net(task);
  EXPECT_FALSE(net.takes_over(moment(9, 36'000, SpotTake::kIdle)));
  EXPECT_TRUE(net.takes_over(moment(10, 36'000, SpotTake::kIdle)));
  EXPECT_EQ(net.act(moment(10, 36'000, SpotTake::kOnDemand)), RegionsAct{});
  EXPECT_EQ(net.act(moment(10, 36'000, SpotTake::kSpot, 1)), (RegionsAct{Kind::kOnDemand, 1})) << "no transfer in a hurry";
  EXPECT_EQ(net.act(moment(10, 36'000, SpotTake::kIdle, 0)), (RegionsAct{Kind::kOnDemand, 2}))
      << "10 h × 5 USD for a transfer of 1 USD";
  EXPECT_EQ(net.act(moment(71, 60, SpotTake::kIdle, 0)), (RegionsAct{Kind::kOnDemand, 0}))
      << "a minute does not pay the transfer";
}

// The pace is 5/6: at tick 6 (3,600 s) 3,000 s, two changeovers later 4,200 s.
TEST(RegionsUniform, TheRuleKeepsThePace) {
  const RegionsTask task = ten_in_twelve();
  const UniformRule rule(task);
  const auto take = [&](double done_s, SpotTake held, bool spot) {
    return rule.ask(moment(6, 36'000 - done_s, held), held, spot).take;
  };
  EXPECT_EQ(take(0, SpotTake::kIdle, true), SpotTake::kSpot);
  EXPECT_EQ(take(2'999, SpotTake::kIdle, false), SpotTake::kOnDemand);
  EXPECT_EQ(take(3'001, SpotTake::kIdle, false), SpotTake::kIdle);
  EXPECT_EQ(take(4'199, SpotTake::kOnDemand, true), SpotTake::kOnDemand);
  EXPECT_EQ(take(4'201, SpotTake::kOnDemand, true), SpotTake::kSpot);
  EXPECT_EQ(take(4'201, SpotTake::kOnDemand, false), SpotTake::kOnDemand);
}

/// The acts of one tick, where only `there` has capacity.
std::vector<RegionsAct> acts_of(RegionsPolicy& policy, RegionsMoment now, std::optional<size_t> there) {
  std::vector<RegionsAct> acts;
  policy.begin_tick(now);
  for (RegionsAct act = policy.next(now); act.kind != Kind::kDone; act = policy.next(now)) {
    acts.push_back(act);
    const bool started = act.kind == Kind::kOnDemand || act.kind == Kind::kStop || act.zone == there;
    if (act.kind != Kind::kProbe) now.held = act.kind == Kind::kSpot && started ? SpotTake::kSpot : SpotTake::kIdle;
    if (act.kind == Kind::kOnDemand) now.held = SpotTake::kOnDemand;
    if (act.kind == Kind::kSpot || act.kind == Kind::kOnDemand) now.zone = act.zone;
    policy.heard(act, started);
  }
  return acts;
}

TEST(RegionsUniform, SpotGoesToTheCheapestZoneAndAfterALossToAnotherRegionFirst) {
  const RegionsTask task = ten_in_twelve();
  UniformSpot policy(task);
  RegionsMoment start{.work_left_s = 36'000};
  EXPECT_EQ(acts_of(policy, start, 0), (std::vector<RegionsAct>{{Kind::kSpot, 1}, {Kind::kSpot, 2}, {Kind::kSpot, 0}}));
  EXPECT_EQ(acts_of(policy, moment(1, 36'000, SpotTake::kSpot, 0), 0), std::vector<RegionsAct>{});
  RegionsMoment loss = moment(2, 35'520, SpotTake::kIdle, 0);
  loss.lost = 0;
  EXPECT_EQ(acts_of(policy, loss, 1), (std::vector<RegionsAct>{{Kind::kSpot, 2}, {Kind::kSpot, 1}}));
}

TEST(RegionsUniform, WithoutCapacityOnDemandStartsOnlyBehindTheLine) {
  const RegionsTask task = ten_in_twelve();
  UniformSpot policy(task);
  EXPECT_EQ(acts_of(policy, moment(6, 36'000 - 2'999, SpotTake::kIdle, 2), std::nullopt).back(),
            (RegionsAct{Kind::kOnDemand, 2}));
  EXPECT_EQ(acts_of(policy, moment(6, 36'000 - 3'001, SpotTake::kIdle, 2), std::nullopt).back().kind, Kind::kSpot);
}

}  // namespace
}  // namespace stint::sched
