#include "model/change_check.h"

#include <gmock/gmock.h>

#include "model/testing_changes.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

FleetPlan fleet() {
  Prng prng(1);
  FleetPlan out = testing::random_fleet(prng, 3);
  for (PlannedNode& node : out.nodes) {
    node.market = Market::kOnDemand;
    node.region = "us-east-1";
  }
  out.nodes[2].market = Market::kOwned;
  return out;
}

std::string objections(const Change& change, const ChangeRules& rules = {}) {
  return to_text(check_change(change, fleet(), rules));
}

TEST(ChangeCheck, PassesWhatCanBeMade) {
  EXPECT_THAT(objections(StopNodes{{"n0", "n2"}}), IsEmpty());
  EXPECT_THAT(objections(SwitchMarket{{"n0", "n1"}, Market::kSpot}), IsEmpty());
  EXPECT_THAT(objections(MoveRegion{{"n0"}, "eu-west-1"}, {{"eu-*"}}), IsEmpty());
}

TEST(ChangeCheck, NamesTheUnknownNodeAndTheNearest) {
  EXPECT_THAT(objections(StopNodes{{"m0"}}), HasSubstr("no node 'm0' in the fleet: did you mean 'n0'?"));
  EXPECT_THAT(objections(StopNodes{{"something-else"}}), HasSubstr("such as 'n0'"));
  EXPECT_THAT(objections(StopNodes{{}}), HasSubstr("names no node"));
  EXPECT_THAT(objections(StopNodes{{"n0", "n0"}}), HasSubstr("named twice"));
}

TEST(ChangeCheck, RegionsMustBeAllowed) {
  EXPECT_THAT(objections(MoveRegion{{"n0"}, "eu-west-1"}), HasSubstr("--allow-region 'eu-west-1'"));
  EXPECT_THAT(objections(MoveRegion{{"n0"}, "eu-west-1"}, {{"us-*"}}), HasSubstr("work may not move to region 'eu-west-1'"));
  EXPECT_THAT(objections(ResizeNodes{{"n0"}, "g5.xlarge", "us-east-1", 1}), IsEmpty());
}

TEST(ChangeCheck, MarketsMustFit) {
  EXPECT_THAT(objections(SwitchMarket{{"n2"}, Market::kSpot}), HasSubstr("'n2' is owned"));
  EXPECT_THAT(objections(SwitchMarket{{"n0"}, Market::kOnDemand}), HasSubstr("on-demand already"));
  EXPECT_THAT(objections(Commit{"aws", "us-east-1", "p4d.24xlarge", 1, CommitmentTerm::kOneYear, PaymentOption::kNone, {"n2"}}),
              HasSubstr("covers machines on demand only"));
}

TEST(ChangeCheck, ASavingsPlanNeedsMoneyAndRatesForItsMachines) {
  SavingsPlan plan{"aws",
                   Money::units(5),
                   CommitmentTerm::kOneYear,
                   PaymentOption::kNoUpfront,
                   {{"us-east-1", "p4d.24xlarge", Money::units(14)}},
                   {"n0"}};
  EXPECT_THAT(objections(plan), IsEmpty());
  plan.nodes = {"n2"};
  EXPECT_THAT(objections(plan), HasSubstr("covers machines on demand only"));
  plan.nodes = {"n0"};
  plan.rates.front().region = "eu-west-1";
  EXPECT_THAT(objections(plan), HasSubstr("for which the plan has no rate"));
  plan.rates.front() = {"", "p4d.24xlarge", Money()};
  plan.per_hour = Money();
  EXPECT_THAT(objections(plan), ::testing::AllOf(HasSubstr("commits to nothing"), HasSubstr("give rates above 0")));
}

TEST(ChangeCheck, MigLayoutsMustBeLegal) {
  ShareGpus share{SharingMode::kMig, {"n0", "n1"}, {"n0"}, {}};
  share.placements = {{"a", "n0", 0, "n0", 0, "3g.20gb", 0, 1}, {"b", "n1", 0, "n0", 0, "3g.20gb", 4, 1}};
  EXPECT_THAT(objections(share), IsEmpty());
  share.placements[1].memory_start = 2;  // over the first
  EXPECT_THAT(objections(share), HasSubstr("illegal MIG layout"));
  for (auto& p : share.placements)
    p.memory_start = -1;
  EXPECT_THAT(objections(share), IsEmpty()) << "two 3g fit somewhere";
  share.placements.push_back({"c", "n1", 1, "n0", 0, "1g.5gb", -1, 1});
  EXPECT_THAT(objections(share), HasSubstr("do not fit together")) << "two 3g take all memory slices";
  share.placements = {{"a", "n0", 0, "n0", 0, "9g.99gb", 0, 1}};
  EXPECT_THAT(objections(share), HasSubstr("no MIG profile '9g.99gb'"));
  share.placements = {{"a", "n0", 0, "n1", 0, "1g.5gb", 0, 1}};
  EXPECT_THAT(objections(share), HasSubstr("'n1', which is not kept"));
}

TEST(ChangeCheck, PartsOfAGpuSumToAtMostTheGpu) {
  ShareGpus share{SharingMode::kMps, {"n0", "n1"}, {"n0"}, {}};
  share.placements = {{"a", "n0", 0, "n0", 0, "", -1, kWholeDevice / 2}, {"b", "n1", 0, "n0", 0, "", -1, kWholeDevice / 2}};
  EXPECT_THAT(objections(share), IsEmpty());
  share.placements[1].parts = kWholeDevice;
  EXPECT_THAT(objections(share), HasSubstr("GPU 0 of 'n0' is given out 50 % over"));
}

TEST(ChangeCheck, ASequenceIsCheckedOnWhatItsFirstChangesLeave) {
  const std::vector<Change> changes = {
      StopNodes{{"n0"}}, SwitchMarket{{"n0"}, Market::kSpot}, SwitchMarket{{"n1"}, Market::kSpot},
      Commit{"aws", "us-east-1", "p4d.24xlarge", 1, CommitmentTerm::kOneYear, PaymentOption::kNone, {"n1"}}};
  const auto found = check_changes(changes, fleet(), {});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].first, 1U);
  EXPECT_THAT(found[0].second.what, HasSubstr("contradicts change 1: 'n0' is given back"));
  EXPECT_EQ(found[1].first, 3U);
  EXPECT_THAT(found[1].second.what, HasSubstr("'n1' is spot"));
}

}  // namespace
}  // namespace stint
