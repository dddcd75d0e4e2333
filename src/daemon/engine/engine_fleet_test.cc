// Another configuration while jobs wait and run: what is taken over, what is refused, and that a restart sees the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/testing_daemon.h"

namespace stint {
namespace {

using ::testing::HasSubstr;

/// acme (8 GPUs deserved) with acme/vision, and zoo (8).
FleetConfig limited(int64_t gpus) {
  FleetConfig fleet = testing_fleet();
  fleet.queues[1].limit.gpu_milli = gpus * 1000;
  return fleet;
}

void change(TestingDaemon& daemon, const FleetConfig& fleet) {
  const Status staged = daemon.engine().stage_fleet(fleet, {});
  ASSERT_TRUE(staged.ok()) << staged.error().message;
  ASSERT_TRUE(daemon.commit().ok());
}

TEST(EngineFleet, AHigherLimitLetsStartWhatWaitedForIt) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", limited(4));
  const int64_t first = daemon.submit(testing_job(4, kHour * 10)), second = daemon.submit(testing_job(4, kHour * 10));
  EXPECT_EQ(daemon.job(second).state, JobState::kWaiting);
  change(daemon, limited(8));
  EXPECT_EQ(daemon.job(second).state, JobState::kRunning);
  // Lower than what is held: nothing is stopped, nothing more starts.
  change(daemon, limited(2));
  const int64_t third = daemon.submit(testing_job(1, kHour));
  daemon.pass(kHour);
  EXPECT_EQ(daemon.job(first).state, JobState::kRunning);
  EXPECT_EQ(daemon.job(second).state, JobState::kRunning);
  EXPECT_EQ(daemon.job(third).state, JobState::kWaiting);
  daemon.pass(kHour * 10);
  EXPECT_EQ(daemon.job(third).state, JobState::kSucceeded);
  EXPECT_EQ(*daemon.engine().queues()[1].limit_gpu_milli, 2'000);
}

TEST(EngineFleet, ClosingHoursThatGoLetStartAtOnce) {
  const ScratchDir dir;
  FleetConfig fleet = testing_fleet();
  // The daemon starts at 08:00.
  auto closed = parse_fleet_config(
      R"({"nodes":[],"queues":[{"name":"acme","hours":"20:00-06:00"},{"name":"acme/vision"},{"name":"zoo"}]})", "hours");
  ASSERT_TRUE(closed.ok()) << closed.error().message;
  closed->nodes = fleet.nodes;
  TestingDaemon daemon(dir / "log.db", *closed);
  const int64_t job = daemon.submit(testing_job(1, kHour));
  EXPECT_EQ(daemon.job(job).state, JobState::kWaiting);
  change(daemon, fleet);
  EXPECT_EQ(daemon.job(job).state, JobState::kRunning);
  change(daemon, *closed);
  const int64_t next = daemon.submit(testing_job(1, kHour));
  EXPECT_EQ(daemon.job(next).state, JobState::kWaiting);
  daemon.pass(kHour * 13);
  EXPECT_NE(daemon.job(next).state, JobState::kWaiting) << "at 20:00";
}

TEST(EngineFleet, AGuaranteeGivenToAnotherIsTakenBackFromWhoBorrowed) {
  const ScratchDir dir;
  FleetConfig fleet = testing_fleet();
  fleet.queues[0].deserved.gpu_milli = 16'000;
  fleet.queues[2].deserved.gpu_milli.reset();
  TestingDaemon daemon(dir / "log.db", fleet);
  daemon.submit(testing_job(8, kHour * 10));
  daemon.submit(testing_job(8, kHour * 10));
  const int64_t other = daemon.submit(testing_job(8, kHour, "zoo"));
  daemon.pass(Duration::minutes(30));
  EXPECT_EQ(daemon.job(other).state, JobState::kWaiting);
  change(daemon, testing_fleet());  // 8 each
  daemon.pass(Duration::minutes(30));
  EXPECT_NE(daemon.job(other).state, JobState::kWaiting);
}

TEST(EngineFleet, ARestartSeesTheSame) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", limited(4));
  for (int i = 0; i < 6; ++i)
    daemon.submit(testing_job(2, Duration::minutes(50), i % 2 == 0 ? "acme/vision" : "zoo"));
  change(daemon, limited(2));
  daemon.pass(Duration::minutes(20));
  FleetConfig heavier = limited(6);
  heavier.queues[2].over_quota_weight = 3;
  heavier.queues[2].priority = 200;
  change(daemon, heavier);
  daemon.pass(Duration::minutes(20));
  const uint64_t fingerprint = daemon.engine().fingerprint();
  auto log = EventLog::open(dir / "log.db");
  ASSERT_TRUE(log.ok());
  EngineOptions reading;
  reading.carry_out = false;
  const auto again = Engine::follow(*log, reading);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->fingerprint(), fingerprint);
  EXPECT_EQ(*again->queues()[1].limit_gpu_milli, 6'000);
}

TEST(EngineFleet, WhatChangedWhileItWasDownIsTakenOverAtTheStart) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", limited(4));
  daemon.submit(testing_job(4, kHour * 10));
  const int64_t second = daemon.submit(testing_job(4, kHour * 10));
  daemon.restart(limited(8));
  EXPECT_EQ(daemon.job(second).state, JobState::kRunning);
  FleetConfig gone = limited(8);
  gone.queues.pop_back();
  auto log = EventLog::open(dir / "log.db");
  ASSERT_TRUE(log.ok());
  SimulatedBackend nothing;
  const auto refused = Engine::open(*log, nothing, gone, {}, daemon.now());
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("queue 'zoo' is gone"));
}

TEST(EngineFleet, TheOrderInTheFileDoesNotMatter) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db");
  FleetConfig turned = testing_fleet();
  turned.queues = {{.name = "new"}, turned.queues[2], turned.queues[0], turned.queues[1]};
  turned.queues[3].parent = sched::QueueId(2);
  change(daemon, turned);
  const auto queues = daemon.engine().queues();
  ASSERT_EQ(queues.size(), 4U);
  EXPECT_EQ(queues[1].path, "acme/vision");
  EXPECT_EQ(queues[1].parent, "acme");
  EXPECT_EQ(queues[3].path, "new");
}

TEST(EngineFleet, ARestartWithTheSameInOtherWordsRecordsNothing) {
  const ScratchDir dir;
  const auto fleet_of = [](const std::string& queues) {
    auto fleet = parse_fleet_config(
        R"({"parts_apart":true,"nodes":[{"name":"n0","gpus":8,"per_hour":"16","labels":{"rack":"r1"}}],"queues":)" + queues,
        "fleet");
    CHECK(fleet.ok(), "{}", fleet.error().message);
    return *fleet;
  };
  TestingDaemon daemon(dir / "log.db",
                       fleet_of(R"([{"name":"acme"},{"name":"acme/vision","budget":"5","budget_period":90.5},{"name":"zoo"}]})"));
  daemon.submit(testing_job(1, kHour));
  const int64_t steps = daemon.log().last_step();
  const FleetConfig turned =
      fleet_of(R"([{"name":"zoo"},{"name":"acme","priority":100},{"name":"acme/vision","budget":"5.0","budget_period":90.5}]})");
  daemon.restart(turned);
  EXPECT_EQ(daemon.log().last_step(), steps);
  FleetConfig another = turned;
  another.nodes[0].rate = Rate::per_hour(Money::units(8));
  daemon.restart(another);
  EXPECT_EQ(daemon.log().last_step(), steps + 1);
}

TEST(EngineFleet, WhatCannotChangeIsRefusedWithAReason) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db");
  const auto refused = [&](const FleetConfig& fleet) {
    const Status staged = daemon.engine().stage_fleet(fleet, {});
    return staged.ok() ? std::string() : staged.error().message;
  };
  FleetConfig other = testing_fleet();
  other.policy = "fifo";
  EXPECT_THAT(refused(other), HasSubstr("policy 'fifo'"));
  other = testing_fleet();
  other.queues.pop_back();
  EXPECT_THAT(refused(other), HasSubstr("queue 'zoo' is gone"));
  other = testing_fleet();
  other.queues[1].parent = {};
  EXPECT_THAT(refused(other), HasSubstr("another parent"));
  other = testing_fleet();
  other.queues[2].budget = sched::Budget{.amount = Money::units(5), .period = kHour, .from = kDaemonStart};
  EXPECT_THAT(refused(other), HasSubstr("govern.budgets"));
  EXPECT_FALSE(daemon.engine().has_staged());
}

}  // namespace
}  // namespace stint
