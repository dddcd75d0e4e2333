#include "sim/regions_replay.h"

#include <gtest/gtest.h>

#include <string>

#include "base/prng.h"
#include "sched/spot/regions_stint.h"
#include "sched/spot/regions_uniform.h"
#include "sim/regions_optimum.h"
#include "sim/regions_protocol.h"

namespace stint::sim {
namespace {

using sched::RegionsAct;
using sched::RegionsMoment;
using sched::RegionsTask;
using sched::SpotTake;
using Kind = RegionsAct::Kind;

/// Spot costs 6 and 12 an hour, on-demand 60: 1, 2 and 10 a tick. A transfer costs 3.
RegionsTask two_zones(int64_t deadline_ticks, double work_s) {
  RegionsTask task{.tick_s = 600, .deadline_ticks = deadline_ticks, .work_s = work_s, .changeover_s = 720, .probe_s = 60};
  task.zones = {{Rate::per_hour(Money::units(6)), Rate::per_hour(Money::units(60)), 0},
                {Rate::per_hour(Money::units(12)), Rate::per_hour(Money::units(60)), 1}};
  task.fetch_costs = {Money(), Money::units(3), Money::units(3), Money()};
  return task;
}

struct Capacity {
  std::vector<std::vector<uint8_t>> zones;
  explicit Capacity(std::initializer_list<std::string_view> texts) {
    for (const std::string_view text : texts) {
      zones.emplace_back();
      for (const char c : text)
        zones.back().push_back(c == '#' ? 1 : 0);
    }
  }
  [[nodiscard]] ZoneCapacity view() const { return {zones.begin(), zones.end()}; }
};

/// Says the same acts as a list, tick by tick.
class Script final : public sched::RegionsPolicy {
 public:
  explicit Script(std::vector<std::vector<RegionsAct>> acts) : acts_(std::move(acts)) {}
  void begin_tick(const RegionsMoment& now) override {
    tick_ = static_cast<size_t>(now.tick);
    next_ = 0;
    if (now.lost) losses.push_back(*now.lost);
  }
  RegionsAct next(const RegionsMoment& /*now*/) override {
    if (tick_ >= acts_.size() || next_ == acts_[tick_].size()) return {};
    return acts_[tick_][next_++];
  }
  void heard(const RegionsAct& /*act*/, bool started) override { answers.push_back(started); }

  std::vector<size_t> losses;
  std::vector<bool> answers;

 private:
  std::vector<std::vector<RegionsAct>> acts_;
  size_t tick_ = 0;
  size_t next_ = 0;
};

// Zone 0 for ticks 0–2: 0, 480, 600 s of work; zone 1 for ticks 3–5 likewise; on-demand there is not needed. 2,160 s of work.
TEST(RegionsReplay, BillsTicksTransfersAndProbesAndSaysWhatIsLost) {
  const RegionsTask task = two_zones(20, 2'160);
  const Capacity there({"###.................", "...###.............."});
  Script script({{{Kind::kSpot, 1}, {Kind::kSpot, 0}}, {{Kind::kProbe, 0}}, {}, {{Kind::kSpot, 1}}});
  const RegionsRun run = replay_regions(task, there.view(), script);
  EXPECT_EQ(script.answers, (std::vector<bool>{false, true, true, true}));
  EXPECT_EQ(script.losses, std::vector<size_t>{0});
  EXPECT_EQ(run.billed[0], (RegionsRun::Seconds{.spot = 1'800, .on_demand = 0, .probes = 60}));
  EXPECT_EQ(run.billed[1], (RegionsRun::Seconds{.spot = 1'800, .on_demand = 0, .probes = 0}));
  EXPECT_EQ(run.migrations, 1);
  EXPECT_EQ(run.launches, 2);
  EXPECT_EQ(run.ticks, 6);
  EXPECT_FALSE(run.late);
  EXPECT_EQ(cost_of(run, task), Money::nanos(3'000'000'000 + 100'000'000 + 6'000'000'000 + 3'000'000'000));
  EXPECT_EQ(published_cost(run, RegionsChoice::kStint, task), cost_of(run, task) - Money::units(2))
      << "the last tick is left out";
  EXPECT_EQ(published_cost(run, RegionsChoice::kUp, task), cost_of(run, task));
}

// 3 ticks of work and a changeover take 5 ticks (4.2): on-demand from tick 5 of 10.
TEST(RegionsReplay, TheSafetyNetMeetsTheDeadlineWithoutThePolicy) {
  const RegionsTask task = two_zones(10, 1'800);
  const Capacity there({"..........", ".........."});
  Script idle({});
  const RegionsRun run = replay_regions(task, there.view(), idle);
  EXPECT_FALSE(run.late);
  EXPECT_EQ(run.ticks, 10);
  EXPECT_EQ(run.billed[0].on_demand, 5 * 600);
  Script nobody({});
  EXPECT_TRUE(replay_regions(task, there.view(), nobody, SafetyNet::kNo).late);
}

// One zone of its own price for the whole time is the best there is: 2 ticks of changeover, 5 of work, at 1 a tick.
TEST(RegionsOptimum, TakesTheCheapestCapacityThatLasts) {
  const RegionsTask task = two_zones(20, 3'000);
  const Capacity there({"...#########........", "####################"});
  const auto run = replay_regions_optimum(task, there.view());
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->billed[0].spot, 7 * 600);
  EXPECT_EQ(run->billed[1].spot, 0);
  EXPECT_FALSE(run->late);
}

TEST(RegionsOptimum, MovesWhereTheTransferPays) {
  RegionsTask task = two_zones(40, 18'000);
  const Capacity there({"....................####################", "########################................"});
  const auto run = replay_regions_optimum(task, there.view());
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->migrations, 1);
  EXPECT_EQ(run->billed[0].on_demand + run->billed[1].on_demand, 0);
}

TEST(StintRegions, TakesTheCheapZoneAndStaysInIt) {
  const RegionsTask task = two_zones(40, 12'000);
  const Capacity there({"########################################", "########################################"});
  sched::StintRegions policy(task);
  const RegionsRun run = replay_regions(task, there.view(), policy);
  EXPECT_EQ(run.launches, 1);
  EXPECT_EQ(run.billed[1].spot + run.billed[1].on_demand + run.billed[0].on_demand, 0);
}

TEST(StintRegions, WaitsOutAShortGapInsteadOfPayingTenTimesAsMuch) {
  const RegionsTask task = two_zones(80, 12'000);
  const Capacity there({"#########..#####################################################################",
                        "................................................................................"});
  sched::StintRegions policy(task);
  const RegionsRun run = replay_regions(task, there.view(), policy);
  EXPECT_EQ(run.billed[0].on_demand + run.billed[1].on_demand, 0);
  EXPECT_EQ(run.launches, 2);
}

/// Zones whose spells last between a tick and half the window.
std::vector<std::vector<uint8_t>> drawn_zones(Prng& random, size_t zones, size_t ticks) {
  std::vector<std::vector<uint8_t>> out(zones);
  for (std::vector<uint8_t>& zone : out) {
    uint8_t up = random.below(2) == 0 ? 0 : 1;
    while (zone.size() < ticks) {
      zone.insert(zone.end(), 1 + random.below(random.below(3) == 0 ? ticks / 2 : 6), up);
      up ^= 1;
    }
    zone.resize(ticks);
  }
  return out;
}

class RegionsAtRandom : public testing::TestWithParam<int> {};

TEST_P(RegionsAtRandom, NoDeadlineIsMissedAndTheSameInputsGiveTheSameRun) {
  Prng random(static_cast<uint64_t>(GetParam()));
  RegionsTask task{.tick_s = 600, .deadline_ticks = 60 + static_cast<int64_t>(random.below(60))};
  task.changeover_s = static_cast<int64_t>(random.below(3)) * 500;
  task.probe_s = 60;
  task.work_s = (task.deadline_s() - static_cast<double>(task.changeover_s)) * (0.4 + 0.6 * random.uniform());
  const size_t zones = 1 + random.below(4);
  for (size_t z = 0; z < zones; ++z)
    task.zones.push_back({Rate::per_hour(Money::units(10 + static_cast<int64_t>(random.below(60)))),
                          Rate::per_hour(Money::units(80)), static_cast<uint32_t>(z)});
  for (size_t from = 0; from < zones; ++from)
    for (size_t to = 0; to < zones; ++to)
      task.fetch_costs.push_back(Money::units(from == to ? 0 : 1));
  ASSERT_TRUE(task.check().ok()) << "seed " << GetParam();
  const auto drawn = drawn_zones(random, zones, static_cast<size_t>(task.deadline_ticks));
  const ZoneCapacity there(drawn.begin(), drawn.end());
  for (const RegionsChoice choice :
       {RegionsChoice::kUpS, RegionsChoice::kUpA, RegionsChoice::kUpAp, RegionsChoice::kOptimal, RegionsChoice::kStint}) {
    const auto run = run_regions(choice, task, there);
    ASSERT_TRUE(run.ok()) << run.error().message;
    EXPECT_FALSE(run->late) << "seed " << GetParam() << ", policy " << static_cast<int>(choice);
    EXPECT_EQ(*run, *run_regions(choice, task, there)) << "seed " << GetParam();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RegionsAtRandom, testing::Range(1, 9));

TEST(RegionsProtocol, SaysWhichPriceOrZoneIsAbsent) {
  const std::vector<ZonePrice> prices = {{"a-1", "a", Rate::per_hour(Money::units(1)), Rate::per_hour(Money::units(3))},
                                         {"b-1", "b", Rate::per_hour(Money::units(1)), Rate::per_hour(Money::units(3))}};
  const auto error = [&](std::vector<std::string> zones, double ratio, const TransferPrices& transfers) {
    const auto task = make_regions_task({.zones = std::move(zones), .ratio = ratio}, 600, prices, transfers);
    return task.ok() ? "" : task.error().message;
  };
  const TransferPrices both = {{{"a", "b"}, Money::units(1)}, {{"b", "a"}, Money::units(1)}};
  EXPECT_EQ(error({"a-1", "b-1"}, 1.2, both), "");
  EXPECT_EQ(error({"a-1", "c-1"}, 1.2, both), "no prices of zone `c-1`: add it, or leave the zone out");
  EXPECT_EQ(error({"a-1", "a-1"}, 1.2, both), "zone `a-1` is named twice");
  EXPECT_EQ(error({"a-1", "b-1"}, 1.2, {}), "no price of a transfer from a to b: add it");
  EXPECT_NE(error({"a-1"}, 1.0, both).find("do not fit"), std::string::npos) << "no room for a changeover";
  EXPECT_NE(error({"a-1"}, 0.5, both).find("1 or more"), std::string::npos);
  const ZonesTrace trace{600, {{"a-1", {1, 0, 1}}}};
  const std::vector<std::string> one = {"a-1"};
  EXPECT_TRUE(zone_capacity(trace, one, 1, 2).ok());
  EXPECT_FALSE(zone_capacity(trace, one, 1, 3).ok());
  EXPECT_FALSE(zone_capacity(trace, std::vector<std::string>{"z"}, 0, 1).ok());
}

}  // namespace
}  // namespace stint::sim
