// Machines that come and go by themselves: each change is a record, work goes on elsewhere, nothing of what is gone stays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/engine/simulated_faults.h"
#include "daemon/engine/snapshot_version.h"
#include "daemon/testing_daemon.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

Machine machine(const std::string& name, int gpus = 8, int64_t per_hour = 8) {
  Machine m;
  m.node.name = name;
  m.node.gpu_model = "A100-80GB";
  m.node.gpus = gpus;
  m.node.gpu_memory = Bytes::gibi(int64_t{80});
  m.node.cpu_milli = 128'000;
  m.node.memory = Bytes::gibi(int64_t{1024});
  m.market = Market::kSpot;
  m.rate = Rate::per_hour(Money::units(per_hour));
  return m;
}

class EngineMachines : public ::testing::Test {
 protected:
  void after(Duration wait, MachineReport report) { daemon_.backend().plan({{daemon_.now() + wait, std::move(report)}}); }
  void now(MachineReport report) {
    after({}, std::move(report));
    daemon_.pass({});
  }
  [[nodiscard]] std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const NodeView& node : daemon_.engine().nodes())
      all.push_back(node.name);
    return all;
  }
  [[nodiscard]] NodeView node(const std::string& name) {
    for (const NodeView& node : daemon_.engine().nodes())
      if (node.name == name) return node;
    ADD_FAILURE() << "no machine " << name;
    return {};
  }
  [[nodiscard]] std::string place_of(int64_t job) {
    const JobView view = daemon_.job(job);
    return view.placed.empty() ? "" : view.placed.front().node;
  }
  [[nodiscard]] std::vector<std::string> told_of(const std::string& name) {
    std::vector<std::string> told;
    for (const EventView& event : daemon_.engine().events_since(0, 1'000))
      if (event.node == name && event.kind.starts_with("node."))
        told.push_back(event.kind + (event.detail.empty() ? "" : " " + event.detail));
    return told;
  }

  ScratchDir dir_;
  TestingDaemon daemon_{dir_ / "log.db", testing_fleet(1)};
};

TEST_F(EngineMachines, OneThatComesTakesWorkAtItsPrice) {
  const int64_t first = daemon_.submit(testing_job(8, kHour * 10)), second = daemon_.submit(testing_job(8, kHour * 2));
  EXPECT_EQ(daemon_.job(second).state, JobState::kWaiting);
  now({.news = MachineNews::kThere, .machine = machine("spot-1")});
  EXPECT_THAT(names(), ElementsAre("n0", "spot-1"));
  EXPECT_EQ(place_of(first), "n0");
  EXPECT_EQ(place_of(second), "spot-1");
  daemon_.pass(kHour);
  now({.news = MachineNews::kThere, .machine = machine("spot-1", 8, 24)});
  daemon_.pass(kHour * 2);
  EXPECT_EQ(daemon_.job(second).state, JobState::kSucceeded);
  EXPECT_EQ(daemon_.job(second).cost, Money::units(8 + 24));
  EXPECT_THAT(told_of("spot-1"), ElementsAre("node.added"));
}

TEST_F(EngineMachines, OneThatIsUsedStaysWhatItsJobsWerePlacedBy) {
  daemon_.submit(testing_job(8, kHour * 10));
  const int64_t job = daemon_.submit(testing_job(4, kHour));
  now({.news = MachineNews::kThere, .machine = machine("spot-1")});
  ASSERT_EQ(place_of(job), "spot-1");
  Machine another = machine("spot-1", 8, 24);
  another.node.cpu_milli = 64'000;
  now({.news = MachineNews::kThere, .machine = another});
  EXPECT_EQ(daemon_.job(job).state, JobState::kRunning) << "what says less of it than before takes nothing from it";
  EXPECT_EQ(node("spot-1").rate, another.rate);
  daemon_.pass(kHour * 2);
  EXPECT_EQ(daemon_.job(job).state, JobState::kSucceeded);
  now({.news = MachineNews::kThere, .machine = another});
  daemon_.pass(Duration::seconds(5));
  EXPECT_THAT(told_of("spot-1"), testing::Contains(HasSubstr("another machine bears its name now"))) << "once it is free";
}

TEST_F(EngineMachines, WhatIsTooLargeForAllWaitsForOneThatIsLargeEnough) {
  JobRequest large = testing_job(8, kHour);
  large.cpu_milli = 500'000;
  const auto refused = daemon_.engine().stage_submit(large, {});
  ASSERT_FALSE(refused.ok()) << "the fleet is what the configuration says";
  now({.news = MachineNews::kThere, .machine = machine("spot-1")});
  const int64_t id = daemon_.submit(large);
  EXPECT_EQ(daemon_.job(id).state, JobState::kWaiting);
  Machine wide = machine("wide");
  wide.node.cpu_milli = 512'000;
  now({.news = MachineNews::kThere, .machine = wide});
  EXPECT_EQ(place_of(id), "wide");
}

TEST_F(EngineMachines, AConfiguredOneThatIsBackIsNoNewOne) {
  now({.news = MachineNews::kLost, .machine = machine("n0")});
  now({.news = MachineNews::kThere, .machine = machine("n0")});
  EXPECT_EQ(node("n0").state, NodeState::kUp);
  JobRequest large = testing_job(8, kHour);
  large.cpu_milli = 500'000;
  EXPECT_FALSE(daemon_.engine().stage_submit(large, {}).ok()) << "the fleet is still what the configuration says";
}

TEST_F(EngineMachines, WhatRanOnALostOneGoesOnElsewhere) {
  now({.news = MachineNews::kThere, .machine = machine("spot-1")});
  const int64_t first = daemon_.submit(testing_job(8, kHour * 10)), second = daemon_.submit(testing_job(8, kHour * 10));
  const std::string gone = place_of(first), stays = place_of(second);
  ASSERT_NE(gone, stays);
  now({.news = MachineNews::kLost, .machine = machine(gone), .detail = "does not answer"});
  EXPECT_EQ(node(gone).state, NodeState::kDown);
  EXPECT_EQ(node(gone).detail, "does not answer");
  EXPECT_EQ(daemon_.job(first).state, JobState::kWaiting);
  EXPECT_EQ(daemon_.job(first).starts, 1);
  EXPECT_EQ(place_of(second), stays);
  const Status up = daemon_.engine().stage_up(gone, {});
  ASSERT_FALSE(up.ok());
  EXPECT_THAT(up.error().message, HasSubstr("is lost"));
  now({.news = MachineNews::kThere, .machine = node(gone).rate == machine("x").rate ? machine(gone) : machine(gone, 8, 16)});
  EXPECT_EQ(node(gone).state, NodeState::kUp);
  EXPECT_EQ(place_of(first), gone);
}

TEST_F(EngineMachines, OnSpotNoticeWorkLeavesAtOnceAndGoesOnElsewhere) {
  now({.news = MachineNews::kThere, .machine = machine("spot-1")});
  now({.news = MachineNews::kThere, .machine = machine("spot-2")});
  const int64_t a = daemon_.submit(testing_job(8, kHour * 10)), b = daemon_.submit(testing_job(8, kHour * 10));
  const std::string victim = place_of(a), other = place_of(b);
  now({.news = MachineNews::kDraining,
       .machine = machine(victim),
       .cause = MachineCause::kSpot,
       .until = daemon_.now() + Duration::minutes(2),
       .detail = "taken back"});
  daemon_.pass(Duration::seconds(1));
  EXPECT_NE(place_of(a), victim);
  EXPECT_NE(place_of(a), "");
  EXPECT_EQ(place_of(b), other);
  EXPECT_EQ(node(victim).state, NodeState::kDrained);
  EXPECT_EQ(node(victim).until, kDaemonStart + Duration::minutes(2));
  EXPECT_THAT(told_of(victim).back(), HasSubstr("node.draining spot: taken back: will be gone at 2027-01-15"));
  if (victim == "n0") return;
  now({.news = MachineNews::kGone, .machine = machine(victim), .cause = MachineCause::kSpot});
  EXPECT_THAT(told_of(victim).back(), "node.gone spot");
  EXPECT_EQ(std::ranges::count(names(), victim), 0);
}

TEST_F(EngineMachines, BeforeAMaintenanceWorkGoesOnAsLongAsItCan) {
  now({.news = MachineNews::kThere, .machine = machine("rack-2")});
  const int64_t a = daemon_.submit(testing_job(8, kHour * 10)), b = daemon_.submit(testing_job(8, kHour * 10));
  const std::string closing = place_of(a);
  now({.news = MachineNews::kDraining,
       .machine = machine(closing),
       .cause = MachineCause::kMaintenance,
       .until = daemon_.now() + kHour});
  daemon_.pass(Duration::minutes(58));
  EXPECT_EQ(place_of(a), closing);
  // Half a minute to leave, and a minute before that.
  now({.news = MachineNews::kLost, .machine = machine("unknown")});
  daemon_.pass(Duration::seconds(31));
  now({.news = MachineNews::kLost, .machine = machine("unknown")});
  EXPECT_EQ(daemon_.job(a).state, JobState::kWaiting);
  EXPECT_EQ(daemon_.job(b).state, JobState::kRunning);
}

TEST_F(EngineMachines, AnOperatorsDrainOutlivesWhatTheBackendTells) {
  ASSERT_TRUE(daemon_.engine().stage_drain("n0", {}).ok());
  ASSERT_TRUE(daemon_.commit().ok());
  now({.news = MachineNews::kLost, .machine = machine("n0")});
  now({.news = MachineNews::kThere, .machine = machine("n0")});
  EXPECT_EQ(node("n0").state, NodeState::kDrained);
  EXPECT_EQ(node("n0").rate, Rate::per_hour(Money::units(16))) << "as configured";
  const int64_t waits = daemon_.submit(testing_job(1, kHour));
  EXPECT_EQ(daemon_.job(waits).state, JobState::kWaiting);
  ASSERT_TRUE(daemon_.engine().stage_up("n0", {}).ok());
  ASSERT_TRUE(daemon_.commit().ok());
  EXPECT_EQ(daemon_.job(waits).state, JobState::kRunning);
}

TEST_F(EngineMachines, ARestartKnowsThemAndForgetsThoseThatWentMeanwhile) {
  now({.news = MachineNews::kThere, .machine = machine("spot-1")});
  now({.news = MachineNews::kThere, .machine = machine("spot-2")});
  const int64_t id = daemon_.submit(testing_job(8, kHour * 10));
  daemon_.submit(testing_job(8, kHour * 10));
  daemon_.submit(testing_job(8, kHour * 10));
  for (const bool marked : {false, true}) {
    if (marked) {
      ASSERT_TRUE(daemon_.engine().mark().ok());
    }
    const uint64_t before = daemon_.engine().fingerprint();
    daemon_.restart();
    EXPECT_EQ(daemon_.engine().fingerprint(), before);
    EXPECT_THAT(names(), ElementsAre("n0", "spot-1", "spot-2"));
    EXPECT_EQ(daemon_.engine().recovery().snapshot_step > 0, marked);
  }
  const std::string place = place_of(id);
  // Not to this engine: the backend no longer names it when the next one asks.
  daemon_.backend().plan({{daemon_.now(), {.news = MachineNews::kGone, .machine = machine("spot-2")}}});
  (void)daemon_.backend().poll_machines(daemon_.now());
  daemon_.restart();
  daemon_.pass({});
  EXPECT_THAT(names(), ElementsAre("n0", "spot-1"));
  EXPECT_THAT(told_of("spot-2").back(), HasSubstr("node.gone no longer there"));
  now({.news = MachineNews::kThere, .machine = machine("spot-3")});
  EXPECT_THAT(names(), ElementsAre("n0", "spot-1", "spot-3")) << "in the place of the one that is gone";
  daemon_.restart();
  EXPECT_THAT(names(), ElementsAre("n0", "spot-1", "spot-3"));
}

TEST_F(EngineMachines, AnotherMachineOfTheSameNameTakesItsPlace) {
  now({.news = MachineNews::kThere, .machine = machine("spot-1", 4)});
  const int64_t id = daemon_.submit(testing_job(8, kHour * 10)), other = daemon_.submit(testing_job(4, kHour * 10));
  EXPECT_EQ(place_of(other), "spot-1");
  EXPECT_EQ(place_of(id), "n0");
  now({.news = MachineNews::kThere, .machine = machine("spot-1", 2)});
  daemon_.pass({});
  now({.news = MachineNews::kLost, .machine = machine("unknown")});
  EXPECT_EQ(node("spot-1").gpus, 2);
  EXPECT_EQ(daemon_.job(other).state, JobState::kWaiting);
}

TEST_F(EngineMachines, OneThatTheConfigurationNoLongerNamesIsForgottenWhenItIsEmpty) {
  daemon_.restart(testing_fleet(2));
  const int64_t a = daemon_.submit(testing_job(8, kHour)), b = daemon_.submit(testing_job(8, kHour));
  ASSERT_TRUE(daemon_.engine().stage_fleet(testing_fleet(1), {}).ok());
  ASSERT_TRUE(daemon_.commit().ok());
  EXPECT_THAT(names(), ElementsAre("n0", "n1"));
  daemon_.pass(kHour * 2);
  EXPECT_EQ(daemon_.job(a).state, JobState::kSucceeded);
  EXPECT_EQ(daemon_.job(b).state, JobState::kSucceeded);
  daemon_.pass({});
  daemon_.engine().poll_backend(daemon_.now());
  ASSERT_TRUE(daemon_.commit().ok());
  EXPECT_THAT(names(), ElementsAre("n0"));
  // A larger one may bear its name from now on.
  FleetConfig next = testing_fleet(2);
  next.nodes[1].node.gpus = 4;
  daemon_.restart(next);
  EXPECT_EQ(node("n1").gpus, 4);
}

TEST_F(EngineMachines, StateDoesNotGrowWithThoseThatEverWere) {
  const auto state_size = [&] {
    EXPECT_TRUE(daemon_.engine().mark().ok());
    const auto newest = daemon_.log().snapshot_before(INT64_MAX, kSnapshotVersion);
    EXPECT_TRUE(newest.ok() && newest->has_value());
    return newest.ok() && newest->has_value() ? (*newest)->payload.size() : size_t{0};
  };
  const auto come_and_go = [&](int from, int to) {
    for (int i = from; i < to; ++i) {
      const std::string name = fmt::format("spot-{:06}", i);
      now({.news = MachineNews::kThere, .machine = machine(name)});
      if (i >= 3) now({.news = MachineNews::kGone, .machine = machine(fmt::format("spot-{:06}", i - 3))});
    }
  };
  EngineOptions few;
  few.events_kept = 100;
  come_and_go(0, 200);
  const size_t early = state_size();
  ASSERT_GT(early, 0U);
  come_and_go(200, 2'000);
  EXPECT_THAT(names(), UnorderedElementsAre("n0", "spot-001997", "spot-001998", "spot-001999"));
  const size_t events = 3'600 * 80;  // kept in memory by their number, 30,000 of them
  EXPECT_LE(state_size(), early + events);
  const uint64_t before = daemon_.engine().fingerprint();
  daemon_.restart();
  EXPECT_EQ(daemon_.engine().fingerprint(), before);
}

TEST(SimulatedFaults, AreDrawnAgainAndAgain) {
  const FleetConfig fleet = testing_fleet(1);
  SimulatedBackend backend;
  std::vector<Instant> asked;
  backend.plan_by(
      [&](Interval when) {
        asked.push_back(when.begin);
        return simulated_faults(fleet, kHour, when);
      },
      kDaemonStart, kHour * 20);
  int64_t lost = 0;
  Instant at = kDaemonStart;
  while (at < kDaemonStart + kHour * 200) {
    for (const MachineReport& report : backend.poll_machines(at))
      lost += report.news == MachineNews::kLost ? 1 : 0;
    ASSERT_GT(*backend.next_report_at(), at);
    at = *backend.next_report_at();
  }
  EXPECT_EQ(asked.size(), 10U);
  // One in 66 minutes; three standard deviations.
  EXPECT_NEAR(static_cast<double>(lost), 200 / 1.1, 40);
}

TEST(SimulatedFaults, SpotIsTakenBackWithNoticeOthersWithout) {
  FleetConfig fleet = testing_fleet(2);
  fleet.nodes[1].market = Market::kSpot;
  const Interval month{kDaemonStart, kDaemonStart + kHour * 24 * 30};
  const auto news = simulated_faults(fleet, kHour * 24, month);
  int owned = 0, spot = 0;
  for (size_t i = 0; i < news.size(); ++i) {
    const MachineReport& r = news[i].report;
    if (r.news == MachineNews::kDraining) {
      EXPECT_EQ(r.machine.node.name, "n1");
      EXPECT_EQ(*r.until - news[i].at, Duration::minutes(2));
    }
    if (r.news == MachineNews::kLost) ++(r.machine.node.name == "n0" ? owned : spot);
  }
  // One a day each, less the time away; three standard deviations.
  EXPECT_NEAR(owned, 26, 15);
  EXPECT_GE(spot, owned / 2) << "spot machines fail, too";
}

}  // namespace
}  // namespace stint
