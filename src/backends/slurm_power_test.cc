#include "backends/slurm_power.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Four cheap machines of which three may be on, two dear ones.
PowerRules rules() {
  PowerRules rules;
  rules.provider = {"machines"};
  rules.pools = {{.nodes = {"d1", "d2"}, .most = 2, .rate = Rate::per_hour(Money::units(32))},
                 {.nodes = {"c1", "c2", "c3", "c4"}, .most = 3, .rate = Rate::per_hour(Money::units(8))}};
  return rules;
}

SlurmMachine machine(const std::string& name, const std::string& state, const std::string& reason = "") {
  SlurmMachine machine;
  machine.name = name;
  machine.state = state;
  machine.reason = reason;
  return machine;
}

const std::string kUp = "MIXED+CLOUD+NOT_RESPONDING+POWERING_UP";
const std::string kOff = "IDLE+CLOUD+POWERED_DOWN";

TEST(SlurmPower, StartsNoMoreThanAPoolMayHave) {
  const std::vector<SlurmMachine> machines = {machine("c1", "ALLOCATED+CLOUD"),
                                              machine("c2", kUp),
                                              machine("c3", kUp),
                                              machine("c4", kUp),
                                              machine("d1", kOff),
                                              machine("d2", kOff)};
  const std::vector<std::string> asked = {"c2", "c3", "c4"};
  const PowerPlan plan = plan_resume(rules(), machines, asked);
  EXPECT_THAT(plan.start, ElementsAre("c2", "c3"));
  ASSERT_THAT(plan.refuse, SizeIs(1));
  EXPECT_EQ(plan.refuse.front().node, "c4");
  EXPECT_THAT(plan.refuse.front().why, HasSubstr("stint: its pool has the 3"));
}

TEST(SlurmPower, WhatIsGoingOrWasRefusedDoesNotCount) {
  const std::vector<SlurmMachine> machines = {machine("c1", "IDLE+CLOUD+POWERING_DOWN"),
                                              machine("c2", "DOWN+CLOUD", "stint: its pool"), machine("c3", kUp),
                                              machine("c4", kUp)};
  const std::vector<std::string> asked = {"c3", "c4"};
  EXPECT_THAT(plan_resume(rules(), machines, asked).start, ElementsAre("c3", "c4"));
}

TEST(SlurmPower, ALostMachineIsGivenBackAndMakesRoom) {
  const std::vector<SlurmMachine> machines = {machine("c1", "DOWN+CLOUD+NOT_RESPONDING", "Not responding"),
                                              machine("c2", "ALLOCATED+CLOUD"), machine("c3", "IDLE+CLOUD"), machine("c4", kUp),
                                              machine("d1", "DOWN*+CLOUD+POWERED_DOWN")};
  const std::vector<std::string> asked = {"c4"};
  const PowerPlan plan = plan_resume(rules(), machines, asked);
  EXPECT_THAT(plan.give_back, ElementsAre("c1"));
  EXPECT_THAT(plan.start, ElementsAre("c4"));
}

TEST(SlurmPower, SpendsNoMoreAnHourThanItMayAndTakesTheCheapFirst) {
  PowerRules limited = rules();
  limited.most_burn = Rate::per_hour(Money::units(48));
  const std::vector<SlurmMachine> machines = {machine("c1", kUp), machine("c2", kUp), machine("d1", kUp), machine("d2", kUp)};
  const std::vector<std::string> asked = {"d1", "d2", "c1", "c2"};
  const PowerPlan plan = plan_resume(limited, machines, asked);
  EXPECT_THAT(plan.start, ElementsAre("c1", "c2", "d1")) << "8 + 8 + 32";
  ASSERT_THAT(plan.refuse, SizeIs(1));
  EXPECT_THAT(plan.refuse.front().why, HasSubstr("80"));
}

TEST(SlurmPower, MachinesOfNoPoolAreRefused) {
  const std::vector<std::string> asked = {"x1"};
  const PowerPlan plan = plan_resume(rules(), {}, asked);
  EXPECT_THAT(plan.start, IsEmpty());
  ASSERT_THAT(plan.refuse, SizeIs(1));
}

TEST(SlurmPower, WhatStopsFreesAsManyAsWereRefused) {
  const std::vector<SlurmMachine> machines = {machine("c1", "IDLE+CLOUD+POWERING_DOWN"),
                                              machine("c3", "DOWN+CLOUD", "stint: its pool"),
                                              machine("c4", "DOWN+CLOUD", "stint: its pool"), machine("c2", "ALLOCATED+CLOUD")};
  const std::vector<std::string> asked = {"c1"};
  const PowerPlan plan = plan_suspend(rules(), machines, asked);
  EXPECT_THAT(plan.start, ElementsAre("c1"));
  EXPECT_THAT(plan.free, ElementsAre("c3"));
}

TEST(SlurmPower, WhatNeverCameMayBeTriedAgainAndMakesNoRoom) {
  const std::vector<SlurmMachine> machines = {machine("c1", "DOWN+CLOUD+POWERED_DOWN", "ResumeTimeout reached [root@2026]"),
                                              machine("c2", "DOWN+CLOUD", "stint: its pool")};
  const std::vector<std::string> asked = {"c1"};
  EXPECT_THAT(plan_suspend(rules(), machines, asked).free, ElementsAre("c1"));
}

}  // namespace
}  // namespace stint
