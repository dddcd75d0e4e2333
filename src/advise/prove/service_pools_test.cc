// Pools of replicas on other machines: against requests simulated one by one, and by what is promised.
#include "advise/prove/service_pools.h"

#include <gmock/gmock.h>

#include "advise/judge_goals.h"
#include "advise/prove/proof_weeks.h"
#include "advise/prove/prove.h"
#include "advise/testing_fleet.h"
#include "batching/testing_pool.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using Use = TestFleet::Use;

/// So many machines with a replica of "search" each, all as busy in every hour.
TestFleet searching(int replicas, double busy_pct) {
  TestFleet fleet;
  fleet.history.period = kJune;
  for (int i = 0; i < replicas; ++i) {
    NodeFacts& node = fleet.add(fmt::format("serve-{}", i), "aws", "p3.2xlarge", WorkloadKind::kRealtimeInference,
                                {Use{.mean = busy_pct, .p95 = busy_pct, .idle = 5, .memory_gib = 12}});
    node.gpus[0].workload = "search";
    node.gpus[0].hourly_pct.assign(kJuneHours, static_cast<float>(busy_pct));
  }
  return fleet;
}

Change fewer(const TestFleet& fleet, int64_t count) {
  ResizeNodes change{{}, "p3.2xlarge", "", count};
  for (const NodeFacts& node : fleet.facts.nodes)
    change.nodes.push_back(node.name);
  return change;
}

ServiceOutlook outlook_of(const TestFleet& fleet, int64_t count) {
  const std::vector<Instant> marks = week_marks(kJune);
  return replay_services(fewer(fleet, count), fleet.facts, fleet.catalog, {.marks = marks}).value();
}

/// × as long as by itself.
double simulated_p99(int64_t replicas, double busy, batching::WorkTimes times) {
  batching::TestService service;
  service.replicas = replicas;
  service.busy_share = busy / static_cast<double>(replicas);
  service.times = times;
  return batching::compare_p99(service, 7).simulated;
}

// Eight at 45 % are 3.6 busy. On five, simulated, equal requests suffer more than exponential ones: those decide.
TEST(ServicePools, AgreeWithRequestsSimulatedOneByOne) {
  const ServiceOutlook out = outlook_of(searching(8, 45), 5);
  const auto ratio = [](batching::WorkTimes times) { return simulated_p99(5, 3.6, times) / simulated_p99(8, 3.6, times); };
  const double equal = ratio(batching::WorkTimes::kEqual);
  const double exponential = ratio(batching::WorkTimes::kExponential);
  EXPECT_GT(equal, exponential);
  EXPECT_NEAR(out.p99_pct.mean / 100 / equal, 1, 0.1);
  EXPECT_TRUE(out.pooled);
  EXPECT_TRUE(out.measured);
  EXPECT_EQ(out.seats, 8);
  EXPECT_DOUBLE_EQ(out.in_time_pct.mean, 100);
}

TEST(ServicePools, AsManyReplicasAsNowAreAsQuick) { EXPECT_NEAR(outlook_of(searching(8, 45), 8).p99_pct.mean, 100, 1e-6); }

// Replicas that gather batches of up to eight, 10 ms alone and 17 ms together, busy for 60 % of the time: simulated on eight and on four. Taken for
// replicas of one request at a time, four could not keep up with what eight do.
TEST(ServicePools, AMeasuredBatchCurveDecidesHowManyAreNeeded) {
  TestFleet fleet = searching(8, 60);
  EXPECT_EQ(outlook_of(fleet, 4).p99_pct.mean, kCannotKeepUpPct);
  const std::vector<double> curve = {10, 11, 12, 13, 14, 15, 16, 17};
  const auto table = std::make_shared<const batching::BatchTable>(batching::BatchingReplica{curve});
  add_batch_curves(fleet.facts, {{"search", table}, {"nobody", table}});
  ASSERT_THAT(fleet.facts.promise_notes, ::testing::ElementsAre(HasSubstr("the batch curve of nobody is for nothing")));
  const auto simulated = [&](int64_t replicas) {
    batching::TestService service;
    service.batch_ms = curve;
    service.busy_share = table->share_at(0.6) * 8 / static_cast<double>(replicas);
    return batching::compare_p99(service, 7).simulated;
  };
  const ServiceOutlook out = outlook_of(fleet, 4);
  EXPECT_NEAR(out.p99_pct.mean / 100 / (simulated(4) / simulated(8)), 1, 0.1);
  EXPECT_DOUBLE_EQ(out.in_time_pct.mean, 100);
  EXPECT_NEAR(outlook_of(fleet, 8).p99_pct.mean, 100, 1e-6);
  EXPECT_EQ(outlook_of(fleet, 1).p99_pct.mean, kCannotKeepUpPct);
}

// One in twenty hours is busy for 60 %, the others for 6 %: p99 is that of the busy ones.
TEST(ServicePools, TheBusiestHoursDecide) {
  TestFleet fleet = searching(8, 6);
  for (NodeFacts& node : fleet.facts.nodes)
    for (size_t h = 0; h < kJuneHours; h += 20)
      node.gpus[0].hourly_pct[h] = 60;
  EXPECT_NEAR(outlook_of(fleet, 6).p99_pct.mean, outlook_of(searching(8, 60), 6).p99_pct.mean, 1e-6);
}

// A mean of 30 % with samples of 70 %: a twelfth of the hour is 5.6 replicas busy, which five cannot do and seven can.
TEST(ServicePools, ABurstWithinTheHourNeedsItsReplicas) {
  TestFleet fleet = searching(8, 30);
  const double even = outlook_of(fleet, 7).p99_pct.mean;
  EXPECT_LT(outlook_of(fleet, 5).p99_pct.mean, 200);
  for (NodeFacts& node : fleet.facts.nodes)
    node.gpus[0].hourly_peak_pct.assign(kJuneHours, 70);
  EXPECT_GT(outlook_of(fleet, 7).p99_pct.mean, even);
  const ServiceOutlook short_of = outlook_of(fleet, 5);
  EXPECT_EQ(short_of.p99_pct.mean, kCannotKeepUpPct);
  EXPECT_NEAR(short_of.in_time_pct.mean, 100 - 100 * 0.7 / 12 / 0.3, 0.1);
}

// Half of the replicas were not seen: they did as much as the others.
TEST(ServicePools, WhatWasNotSeenIsNotIdle) {
  TestFleet fleet = searching(8, 45);
  for (size_t i = 0; i < 4; ++i)
    std::ranges::fill(fleet.facts.nodes[i].gpus[0].hourly_pct, -1.0F);
  EXPECT_NEAR(outlook_of(fleet, 5).p99_pct.mean, outlook_of(searching(8, 45), 5).p99_pct.mean, 1e-6);
}

// Two GPUs of a replica are busy together: four replicas on eight GPUs at 45 %.
TEST(ServicePools, AReplicaMaySpanGpus) {
  TestFleet fleet;
  for (int i = 0; i < 2; ++i) {
    NodeFacts& node = fleet.add(fmt::format("gang-{}", i), "aws", "p3.8xlarge", WorkloadKind::kRealtimeInference,
                                std::vector<Use>(4, Use{.mean = 45, .p95 = 45, .idle = 5, .memory_gib = 12}));
    for (size_t g = 0; g < 4; ++g) {
      node.gpus[g].workload = fmt::format("llm-{}", g / 2);
      node.gpus[g].in_gang = true;
    }
  }
  const std::vector<Instant> marks = week_marks(kJune);
  const auto out =
      replay_services(ResizeNodes{{"gang-0", "gang-1"}, "p3.8xlarge", "", 1}, fleet.facts, fleet.catalog, {.marks = marks})
          .value();
  // Each service has two replicas, 0.9 of them busy, and then one.
  EXPECT_NEAR(out.p99_pct.mean, outlook_of(searching(2, 45), 1).p99_pct.mean, 1e-6);
}

Proof proof_of(const TestFleet& fleet, int64_t count) {
  TestFleet with_history = fleet;
  for (const NodeFacts& facts : fleet.facts.nodes) {
    Node machine;
    machine.name = facts.name;
    machine.provider = "aws";
    machine.region = "us-east-1";
    machine.instance_type = "p3.2xlarge";
    machine.gpu_model = facts.gpu_model;
    machine.gpu_count = 1;
    machine.market = Market::kOnDemand;
    machine.kind = WorkloadKind::kRealtimeInference;
    with_history.history.nodes.push_back(machine);
  }
  const PriceLookup prices(with_history.catalog, with_history.facts.currency);
  const Books books(with_history.facts, prices);
  return Prover::create(with_history.history, with_history.facts, with_history.catalog, {})
      .value()
      .try_change(fewer(with_history, count), books);
}

// p99 doubles: too much for a service of which nothing is promised, and within a promise that leaves room for it.
TEST(ServicePools, APromiseInMillisecondsTakesThePlaceOfTheRatio) {
  TestFleet fleet = searching(8, 45);
  EXPECT_EQ(proof_of(fleet, 5).verdict, ProofVerdict::kRejected);
  for (NodeFacts& node : fleet.facts.nodes)
    node.gpus[0].p99_ms = 40;
  EXPECT_THAT(proof_of(fleet, 5).reason, HasSubstr("ms where 40 ms is the most")) << "today's, as nothing is promised";
  const double ms = 40 * outlook_of(fleet, 5).p99_pct.mean / 100;
  fleet.facts.promises_ms = {{"search", ms + 1}};
  const Proof kept = proof_of(fleet, 5);
  EXPECT_EQ(kept.verdict, ProofVerdict::kSurvives) << kept.reason;
  EXPECT_THAT(kept.notes.back(), HasSubstr(fmt::format("40 ms now, so {:.0f} ms", ms)));
  fleet.facts.promises_ms = {{"search", ms - 1}};
  const Proof broken = proof_of(fleet, 5);
  EXPECT_EQ(broken.verdict, ProofVerdict::kRejected);
  EXPECT_THAT(broken.reason, HasSubstr("keeps what is promised"));
  // A promise that is broken already allows no change that makes requests slower.
  fleet.facts.promises_ms = {{"search", 30}};
  EXPECT_EQ(proof_of(fleet, 7).verdict, ProofVerdict::kRejected);
}

// A goal in percent is a promise of all services: it binds a service whose own promise would allow more, and takes the ratio's place.
TEST(ServicePools, AGoalInPercentBindsAsOneInMillisecondsDoes) {
  TestFleet fleet = searching(8, 45);
  const double pct = outlook_of(fleet, 5).p99_pct.mean;
  fleet.facts.promised_pct = pct + 1;
  EXPECT_EQ(proof_of(fleet, 5).verdict, ProofVerdict::kSurvives);
  fleet.facts.promised_pct = pct - 1;
  EXPECT_THAT(proof_of(fleet, 5).reason, HasSubstr(fmt::format("at most {:.0f} % keeps what is promised", pct - 1)));
  for (NodeFacts& node : fleet.facts.nodes)
    node.gpus[0].p99_ms = 40;
  fleet.facts.promises_ms = {{"search", 400}};
  EXPECT_EQ(proof_of(fleet, 5).verdict, ProofVerdict::kRejected) << "the stricter of the two";
  fleet.facts.promised_pct = pct + 1;
  EXPECT_EQ(proof_of(fleet, 5).verdict, ProofVerdict::kSurvives);
  fleet.facts.promises_ms = {{"search", 41}};
  EXPECT_EQ(proof_of(fleet, 5).verdict, ProofVerdict::kRejected) << "the stricter of the two";
}

TEST(ServicePools, AGoalInMillisecondsIsJudgedByTheSameReplay) {
  TestFleet fleet = searching(8, 45);
  AuditReport report;
  Finding finding;
  finding.change = fewer(fleet, 5);
  report.findings.push_back(finding);
  const auto verdict_of = [&](const std::string& goal) {
    const std::vector<Goal> goals = {parse_goal(goal).value()};
    return judge_goals(goals, {.report = report, .facts = fleet.facts, .catalog = fleet.catalog}).front();
  };
  EXPECT_EQ(verdict_of("p99:search<=80ms").outcome, GoalOutcome::kNotShown) << "nothing says how long requests take now";
  for (NodeFacts& node : fleet.facts.nodes)
    node.gpus[0].p99_ms = 40;
  const double ms = 40 * outlook_of(fleet, 5).p99_pct.mean / 100;
  EXPECT_EQ(verdict_of(fmt::format("p99:search<={:.0f}ms", ms + 1)).outcome, GoalOutcome::kHolds);
  EXPECT_EQ(verdict_of(fmt::format("p99:search<={:.0f}ms", ms - 1)).outcome, GoalOutcome::kFails);
  EXPECT_EQ(verdict_of("p99:search<=80ms").figure, fmt::format("{:.1f} ms", ms));
  EXPECT_THAT(verdict_of("p99:elsewhere<=80ms").why, testing::Contains(HasSubstr("no service 'elsewhere'")));
}

}  // namespace
}  // namespace stint
