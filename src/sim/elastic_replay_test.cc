// Replays in which time and demand count: deferrable work, queue hours, trials, pools of nodes.
#include <gtest/gtest.h>

#include "sched/scheduler.h"
#include "sim/fleet_text.h"
#include "sim/replay.h"
#include "sim/testing_workload.h"

namespace stint::sim {
namespace {

using namespace testing_workload;

ReplayResult run(const Workload& w) {
  CHECK(check_workload(w).ok(), "{}", check_workload(w).error().message);
  sched::Policy policy;
  policy.order = sched::Order::kFifo;
  policy.backfill = sched::Backfill::kNone;
  sched::Scheduler scheduler(policy);
  return replay(scheduler, w);
}

TEST(ElasticReplay, DeferrableWorkRunsAtTheCheapHoursPrice) {
  for (const bool deferrable : {false, true}) {
    Workload w = workload({node("a", 1, 4)}, {job(0, 60)});
    w.prices.push_back({.name = "tariff", .points = {{at(600), units(1)}, {at(840), units(4)}}});
    w.nodes[0].prices = 0;
    w.jobs[0].spec.deferrable = deferrable;
    w.jobs[0].spec.time_limit = Duration::minutes(60);
    w.jobs[0].spec.deadline = at(1200);
    const ReplayResult r = run(w);
    EXPECT_EQ(r.jobs[0].first_start, deferrable ? at(600) : at(0));
    EXPECT_EQ(r.jobs[0].cost, Money::units(deferrable ? 1 : 4));
    EXPECT_EQ(r.deadlines_missed, 0);
  }
}

TEST(ElasticReplay, QueueHoursHoldJobsBack) {
  Workload w = workload({node("a", 1, 4)}, {job(0, 60)});
  w.queues[0].closed.set();
  const Instant opens = at(0) + Duration::hours(5);
  w.queues[0].closed.reset(static_cast<size_t>(weekday(opens) * 24 + to_civil(opens).hour));
  EXPECT_EQ(run(w).jobs[0].first_start, opens);
}

TEST(ElasticReplay, HopelessTrialsAreStopped) {
  Workload w = workload({node("a", 4, 4)}, {job(0, 90), job(0, 90), job(0, 90), job(0, 90)});
  w.studies.push_back({.name = "s", .rules = {.first_rung = 1, .most = 9, .reduction = 3}});  // rungs at 10, 30, 90 minutes
  const int64_t losses[] = {500'000, 300'000, 400'000, 100'000};
  for (size_t j = 0; j < 4; ++j) {
    w.jobs[j].spec.study = sched::StudyId(0);
    w.jobs[j].losses_micro = {losses[j], losses[j]};
  }
  const ReplayResult r = run(w);
  // All report after ten minutes, in their order: the third is not the best of three, the fourth is the best of four.
  EXPECT_EQ(r.jobs[2].ending, JobEnding::kStopped);
  EXPECT_EQ(r.jobs[2].ended, at(10));
  EXPECT_DOUBLE_EQ(r.jobs[2].gpu_hours, 1.0 / 6);
  for (const size_t j : {size_t{0}, size_t{1}, size_t{3}})
    EXPECT_EQ(r.jobs[j].ending, JobEnding::kSucceeded) << j;
}

Workload pooled(int32_t least, int32_t most, std::vector<SimJob> jobs) {
  Workload w = workload({}, std::move(jobs));
  for (int32_t n = 0; n < most; ++n) {
    w.nodes.push_back(node("n" + std::to_string(n), 1, 60));
    w.nodes.back().pool = 0;
  }
  w.pools.push_back({.name = "p", .rules = {}, .provisioning = Duration::minutes(3)});
  w.pools[0].rules.min_nodes = least;
  w.pools[0].rules.max_nodes = most;
  w.pools[0].rules.waiting_gpus_per_node = 1;
  w.pools[0].rules.target_utilization = 1;
  return w;
}

TEST(ElasticReplay, APoolGrowsFromZeroForWorkAndIsPaidForWhileItIsOn) {
  // Seen waiting after 1 minute, ready at 4, done at 64, seen idle from 65 to 80: on from 1 to 80. Then from 301 to 364.
  const ReplayResult r = run(pooled(0, 2, {job(0, 60), job(300, 60)}));
  EXPECT_EQ(r.jobs[0].first_start, at(4));
  EXPECT_EQ(r.jobs[1].first_start, at(304));
  EXPECT_EQ(r.money.total, Money::units(79 + 63));
  EXPECT_EQ(r.nodes_started, 2);
  EXPECT_EQ(r.nodes_stopped, 1);
  EXPECT_DOUBLE_EQ(r.gpu_hours.available, (76 + 60) / 60.0);
}

TEST(ElasticReplay, APoolStaysWithinItsLimits) {
  const ReplayResult r = run(pooled(1, 2, {job(0, 60), job(0, 60), job(0, 60)}));
  EXPECT_EQ(r.jobs[0].first_start, at(0));  // the minimum is there
  EXPECT_EQ(r.jobs[1].first_start, at(4));
  EXPECT_EQ(r.jobs[2].first_start, at(60));
  EXPECT_EQ(r.nodes_started, 1);
}

TEST(ElasticReplay, TheFirstPoolIsFilledBeforeTheNext) {
  Workload w = pooled(0, 1, {job(0, 60), job(0, 60)});
  w.nodes.push_back(node("overflow", 1, 120));
  w.nodes.back().pool = 1;
  w.pools.push_back(w.pools[0]);
  w.jobs.pop_back();
  const ReplayResult one = run(w);
  EXPECT_EQ(one.money.total, Money::units(63));
  w.jobs.push_back(job(0, 60));
  const ReplayResult two = run(w);
  EXPECT_EQ(two.nodes_started, 2);
  EXPECT_GT(two.money.total, one.money.total + one.money.total);
}

TEST(FleetText, APoolHasALeastAndAMost) {
  const Fleet fleet = parse_elastic_fleet("1..4xp4d.24xlarge@us-east-1:spot,2x8", Catalog::built_in()).value();
  ASSERT_EQ(fleet.nodes.size(), 6U);
  ASSERT_EQ(fleet.pools.size(), 1U);
  EXPECT_EQ(fleet.pools[0].rules.min_nodes, 1);
  EXPECT_EQ(fleet.pools[0].rules.max_nodes, 4);
  EXPECT_EQ(fleet.nodes[3].pool, 0);
  EXPECT_EQ(fleet.nodes[4].pool, -1);
  for (const char* wrong : {"5..4x8", "..4x8", "-1..4x8", "1..x8", "1...4x8"})
    EXPECT_FALSE(parse_elastic_fleet(wrong, Catalog::built_in()).ok()) << wrong;
  EXPECT_FALSE(parse_fleet("1..4x8", Catalog::built_in()).ok());
}

TEST(ElasticReplay, ANodeTheProviderHasNoneOfIsNotSwitchedOn) {
  Workload w = pooled(0, 1, {job(10, 30)});
  w.outages.push_back({.node = NodeId(0), .cause = OutageCause::kSpotInterruption, .notice = at(5), .down = at(5), .up = at(40)});
  const ReplayResult r = run(w);
  EXPECT_GE(r.jobs[0].first_start, at(43)) << "back at minute 40, then three minutes of provisioning";
  EXPECT_EQ(r.money.total, Money::units(33)) << "provisioning and the job, not the wait for the provider";
}

}  // namespace
}  // namespace stint::sim
