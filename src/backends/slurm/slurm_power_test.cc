#include "backends/slurm/slurm_power.h"

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

/// A provider that does what it is told at once, and writes it down.
class Provider final : public Capacity {
 public:
  [[nodiscard]] std::string_view name() const override { return "provider"; }
  void offer(Instant) override {}
  void create(const CreateOrder& order, Instant) override {
    for (const std::string& name : order.names) {
      told.push_back("start " + name);
      CapacityOutcome outcome = CapacityOutcome::kReady;
      if (fails) outcome = CapacityOutcome::kUnknown;
      if (name == scarce) outcome = CapacityOutcome::kStockout;
      heard_.answers.push_back({.call = order.call, .name = name, .outcome = outcome, .detail = "no capacity"});
    }
  }
  void destroy(const DestroyOrder& order, Instant) override {
    for (const DestroyOrder::Target& target : order.targets) {
      told.push_back("stop " + target.name);
      heard_.answers.push_back({.call = order.call, .name = target.name, .outcome = CapacityOutcome::kGone, .detail = {}});
    }
  }
  void list(int64_t call, Instant) override {
    CapacityList list{.call = call, .unread = {}, .machines = {}};
    for (const std::string& name : running)
      list.machines.push_back({.id = {}, .name = name, .owner = "slurm", .state = ListedState::kReady});
    heard_.lists.push_back(std::move(list));
  }
  CapacityHeard hear(Instant) override { return std::exchange(heard_, {}); }
  [[nodiscard]] std::optional<Instant> next_at() const override { return {}; }

  std::vector<std::string> told;
  std::vector<std::string> running;
  std::string scarce;
  bool fails = false;

 private:
  CapacityHeard heard_;
};

const PowerWaiting kAtOnce = {.clock = [] { return Instant::from_seconds(1'800'000'000); }, .wait = [] {}};

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
  Provider provider;
  const PowerOutcome outcome = resume_machines(rules(), machines, asked, provider, kAtOnce);
  EXPECT_THAT(provider.told, ElementsAre("start c2", "start c3"));
  ASSERT_THAT(outcome.refuse, SizeIs(1));
  EXPECT_EQ(outcome.refuse.front().node, "c4");
  EXPECT_THAT(outcome.refuse.front().why, HasSubstr("stint: its pool has the 3"));
}

TEST(SlurmPower, WhatIsGoingOrWasRefusedDoesNotCount) {
  const std::vector<SlurmMachine> machines = {machine("c1", "IDLE+CLOUD+POWERING_DOWN"),
                                              machine("c2", "DOWN+CLOUD", "stint: its pool"), machine("c3", kUp),
                                              machine("c4", kUp)};
  const std::vector<std::string> asked = {"c3", "c4"};
  Provider provider;
  EXPECT_THAT(resume_machines(rules(), machines, asked, provider, kAtOnce).refuse, IsEmpty());
  EXPECT_THAT(provider.told, ElementsAre("start c3", "start c4"));
}

TEST(SlurmPower, ALostMachineIsGivenBackAndMakesRoom) {
  const std::vector<SlurmMachine> machines = {machine("c1", "DOWN+CLOUD+NOT_RESPONDING", "Not responding"),
                                              machine("c2", "ALLOCATED+CLOUD"), machine("c3", "IDLE+CLOUD"), machine("c4", kUp),
                                              machine("d1", "DOWN*+CLOUD+POWERED_DOWN")};
  const std::vector<std::string> asked = {"c4"};
  Provider provider;
  EXPECT_THAT(resume_machines(rules(), machines, asked, provider, kAtOnce).refuse, IsEmpty());
  EXPECT_THAT(provider.told, ElementsAre("stop c1", "start c4"));
}

TEST(SlurmPower, SpendsNoMoreAnHourThanItMayAndTakesTheCheapFirst) {
  PowerRules limited = rules();
  limited.most_burn = Rate::per_hour(Money::units(48));
  const std::vector<SlurmMachine> machines = {machine("c1", kUp), machine("c2", kUp), machine("d1", kUp), machine("d2", kUp)};
  const std::vector<std::string> asked = {"d1", "d2", "c1", "c2"};
  Provider provider;
  const PowerOutcome outcome = resume_machines(limited, machines, asked, provider, kAtOnce);
  EXPECT_THAT(provider.told, ElementsAre("start c1", "start c2", "start d1")) << "8 + 8 + 32";
  ASSERT_THAT(outcome.refuse, SizeIs(1));
  EXPECT_THAT(outcome.refuse.front().why, HasSubstr("80"));
}

TEST(SlurmPower, MachinesOfNoPoolAreRefused) {
  const std::vector<std::string> asked = {"x1"};
  Provider provider;
  EXPECT_THAT(resume_machines(rules(), {}, asked, provider, kAtOnce).refuse, SizeIs(1));
  EXPECT_THAT(provider.told, IsEmpty());
}

TEST(SlurmPower, WhatCannotBeHadIsRefusedInTheProvidersWords) {
  const std::vector<SlurmMachine> machines = {machine("c1", kUp), machine("c2", kUp)};
  const std::vector<std::string> asked = {"c1", "c2"};
  Provider provider;
  provider.scarce = "c1";
  const PowerOutcome outcome = resume_machines(rules(), machines, asked, provider, kAtOnce);
  ASSERT_THAT(outcome.refuse, SizeIs(1));
  EXPECT_EQ(outcome.refuse.front().node, "c1");
  EXPECT_EQ(outcome.refuse.front().why, "stint: out of stock: no capacity");
}

TEST(SlurmPower, WhatAFailedProviderMayHaveStartedIsGivenBack) {
  const std::vector<SlurmMachine> machines = {machine("c1", kUp)};
  const std::vector<std::string> asked = {"c1"};
  Provider provider;
  provider.fails = true;
  const PowerOutcome outcome = resume_machines(rules(), machines, asked, provider, kAtOnce);
  ASSERT_THAT(outcome.refuse, SizeIs(1));
  EXPECT_EQ(outcome.refuse.front().why, "stint: the provider failed");
  EXPECT_THAT(provider.told, ElementsAre("start c1", "stop c1"));
}

TEST(SlurmPower, WhatRunsAndIsOffForSlurmIsStoppedWhereTheProviderLists) {
  PowerRules listing = rules();
  listing.provider_lists = true;
  const std::vector<SlurmMachine> machines = {machine("c1", kUp), machine("c2", "ALLOCATED+CLOUD"), machine("c3", kOff)};
  const std::vector<std::string> asked = {"c1"};
  Provider provider;
  provider.running = {"c2", "c3"};
  EXPECT_THAT(resume_machines(listing, machines, asked, provider, kAtOnce).refuse, IsEmpty());
  EXPECT_THAT(provider.told, ElementsAre("start c1", "stop c3"));
}

TEST(SlurmPower, WhatStopsFreesAsManyAsWereRefused) {
  const std::vector<SlurmMachine> machines = {machine("c1", "IDLE+CLOUD+POWERING_DOWN"),
                                              machine("c3", "DOWN+CLOUD", "stint: its pool"),
                                              machine("c4", "DOWN+CLOUD", "stint: its pool"), machine("c2", "ALLOCATED+CLOUD")};
  const std::vector<std::string> asked = {"c1"};
  Provider provider;
  (void)suspend_machines(rules(), machines, asked, provider, kAtOnce);
  EXPECT_THAT(provider.told, ElementsAre("stop c1"));
  EXPECT_THAT(freed_by_suspend(rules(), machines, asked), ElementsAre("c3"));
}

TEST(SlurmPower, WhatNeverCameMayBeTriedAgainAndMakesNoRoom) {
  const std::vector<SlurmMachine> machines = {machine("c1", "DOWN+CLOUD+POWERED_DOWN", "ResumeTimeout reached [root@2026]"),
                                              machine("c2", "DOWN+CLOUD", "stint: its pool")};
  const std::vector<std::string> asked = {"c1"};
  EXPECT_THAT(freed_by_suspend(rules(), machines, asked), ElementsAre("c1"));
}

}  // namespace
}  // namespace stint
