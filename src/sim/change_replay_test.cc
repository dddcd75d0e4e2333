// Changes carried out and then replayed: what they cost, counted by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/change_text.h"
#include "sched/scheduler.h"
#include "sim/apply_change.h"
#include "sim/fleet_text.h"
#include "sim/replay.h"

namespace stint::sim {
namespace {

using testing::HasSubstr;

const Instant kStart = from_civil({.year = 2026, .month = 10, .day = 5});

/// The built-in catalogue, with a commitment to p4d.24xlarge at 10 an hour and the type itself at 20.
const Catalog& catalog() {
  static const Catalog all = [] {
    PriceRow row{.provider = "aws", .region = "us-east-1", .instance_type = "p4d.24xlarge"};
    row.market = Market::kOnDemand;
    row.rate = Rate::per_hour(Money::units(20));
    PriceRow reserved = row;
    reserved.market = Market::kReserved;
    reserved.term = CommitmentTerm::kOneYear;
    reserved.payment = PaymentOption::kNoUpfront;
    reserved.rate = Rate::per_hour(Money::units(10));
    return Catalog::built_in().with_prices(std::vector{row, reserved});
  }();
  return all;
}

/// Machines "a" and "b" with eight GPUs each, at 20 an hour.
Workload two_machines() {
  Workload w;
  w.nodes = parse_fleet("2xp4d.24xlarge@us-east-1", catalog()).value();
  w.nodes[0].node.name = "a";
  w.nodes[1].node.name = "b";
  w.queues.emplace_back().name = "q";
  return w;
}

void add_job(Workload& w, int32_t gpus, Duration run_time, std::vector<std::string> ran_on = {}) {
  sched::Request request;
  request.gpus = gpus;
  const auto known = std::ranges::find(w.requests, request);
  SimJob job;
  job.name = fmt::format("job {}", w.jobs.size() + 1);
  job.run_time = run_time;
  job.spec.queue = sched::QueueId(0);
  job.spec.request = sched::RequestId(static_cast<uint32_t>(known - w.requests.begin()));
  job.spec.submitted = kStart;
  job.ran_on = std::move(ran_on);
  if (known == w.requests.end()) w.requests.push_back(request);
  w.jobs.push_back(std::move(job));
}

std::vector<std::string> change(Workload& w, std::string_view text, Duration spot_mean_between = Duration::hours(20)) {
  const Change what = parse_change(text).value();
  return apply_change(w, what, {.catalog = &catalog(), .seed = 1, .spot_mean_between = spot_mean_between}).value();
}

ReplayResult run(const Workload& w) {
  CHECK(check_workload(w).ok(), "{}", check_workload(w).error().message);
  sched::Scheduler scheduler(sched::Policy{});
  return replay(scheduler, w);
}

TEST(ChangeReplay, ACommitmentChangesTheCostAndNothingElse) {
  Workload w = two_machines();
  add_job(w, 8, Duration::hours(10));
  const ReplayResult before = run(w);
  EXPECT_EQ(before.money.total, Money::units(2 * 20 * 10));
  change(w, "commit:1xp4d.24xlarge@us-east-1=1y");
  const ReplayResult after = run(w);
  EXPECT_EQ(after.money.total, Money::units((10 + 20) * 10));
  EXPECT_EQ(after.money.jobs + after.money.idle, after.money.total);
  EXPECT_EQ(after.completion.mean_s, before.completion.mean_s);
  EXPECT_EQ(after.jobs[0].first_start, before.jobs[0].first_start);
}

TEST(ChangeReplay, ACommitmentIsPaidWhenNothingUsesIt) {
  Workload w = two_machines();
  add_job(w, 8, Duration::hours(10));
  change(w, "commit:3xp4d.24xlarge@us-east-1=1y,no-upfront");
  const ReplayResult r = run(w);
  EXPECT_EQ(r.money.total, Money::units(3 * 10 * 10));
  EXPECT_EQ(r.money.jobs, Money::units(100));
}

TEST(ChangeReplay, ACommitmentCoversWhateverMachineIsThere) {
  // One of two is away from hour 2 to hour 5; the committed instance covers the other meanwhile.
  for (const uint32_t away : {0U, 1U}) {
    Workload w = two_machines();
    add_job(w, 1, Duration::hours(10));
    w.jobs[0].spec.checkpoint.interval = Duration::hours(1);
    w.outages.push_back({.node = NodeId(away),
                         .notice = kStart + Duration::hours(2),
                         .down = kStart + Duration::hours(2),
                         .up = kStart + Duration::hours(5)});
    change(w, "commit:1xp4d.24xlarge=1y");
    const ReplayResult r = run(w);
    const double hours = r.makespan.to_hours();
    EXPECT_NEAR(r.money.total.to_double(), 10 * hours + 20 * (hours - 3), 1e-6) << "node " << away;
    EXPECT_EQ(r.money.jobs + r.money.idle, r.money.total);
  }
}

TEST(ChangeReplay, TwoCommitmentsToOneTypeAddUp) {
  Workload w = two_machines();
  add_job(w, 8, Duration::hours(10));
  change(w, "commit:1xp4d.24xlarge=1y");
  change(w, "commit:1xp4d.24xlarge=1y");
  EXPECT_EQ(run(w).money.total, Money::units(2 * 10 * 10));
}

// Two machines at 20 an hour, 12 under the plan. Of 15 an hour the first takes 12, the second 3: a quarter of its 12, so that it costs
// 3 and three quarters of 20.
TEST(ChangeReplay, ASavingsPlanPaysAsFarAsItReaches) {
  Workload w = two_machines();
  add_job(w, 8, Duration::hours(10));
  const ReplayResult before = run(w);
  const auto notes = change(w, "savings-plan:aws=15,1y,p4d.24xlarge@us-east-1:12");
  EXPECT_THAT(notes.at(0), HasSubstr("for 2 nodes"));
  const ReplayResult after = run(w);
  EXPECT_EQ(after.money.total, Money::units((12 + 3 + 15) * 10));
  EXPECT_EQ(after.money.jobs, Money::units(120));
  EXPECT_EQ(after.completion.mean_s, before.completion.mean_s);
}

TEST(ChangeReplay, TheUnusedPartOfASavingsPlanIsPaid) {
  Workload w = two_machines();
  add_job(w, 8, Duration::hours(10));
  change(w, "savings-plan:aws=30,1y,no-upfront,p4d.24xlarge:12");
  EXPECT_EQ(run(w).money.total, Money::units(30 * 10));
  Workload elsewhere = two_machines();
  add_job(elsewhere, 8, Duration::hours(10));
  EXPECT_THAT(change(elsewhere, "savings-plan:aws=30,1y,p4d.24xlarge@eu-west-1:12").at(0), HasSubstr("all of it is idle"));
  EXPECT_EQ(run(elsewhere).money.total, Money::units((20 + 20 + 30) * 10));
}

// The reservation takes machine a; of the plan's 12 machine b takes all.
TEST(ChangeReplay, CommitmentsToInstancesCoverBeforeASavingsPlan) {
  Workload w = two_machines();
  add_job(w, 8, Duration::hours(10));
  change(w, "savings-plan:aws=12,1y,p4d.24xlarge:12");
  change(w, "commit:1xp4d.24xlarge=1y");
  EXPECT_EQ(run(w).money.total, Money::units((10 + 12) * 10));
}

// A plan of 8 pays two thirds of machine a, then a second of 8 the third left and a third of machine b: 8 + 8 + 2/3 × 20.
TEST(ChangeReplay, TwoSavingsPlansPayOneAfterTheOther) {
  Workload w = two_machines();
  add_job(w, 8, Duration::hours(9));
  change(w, "savings-plan:aws=8,1y,p4d.24xlarge:12");
  change(w, "savings-plan:aws=8,3y,p4d.24xlarge:12");
  EXPECT_NEAR(run(w).money.total.to_double(), (8 + 8 + 20 * 2.0 / 3) * 9, 1e-6);
}

TEST(ChangeReplay, WorkOnSpotIsInterruptedStartsAgainAndLosesWork) {
  Workload w = two_machines();
  for (int i = 0; i < 2; ++i) {
    add_job(w, 8, Duration::hours(40));
    w.jobs.back().spec.checkpoint = {
        .interval = Duration::hours(1), .save = Duration::minutes(5), .restart = Duration::minutes(5)};
  }
  EXPECT_EQ(run(w).node_losses, 0);
  const auto notes = change(w, "switch-market:a=spot", Duration::hours(5));
  EXPECT_THAT(notes.at(0), HasSubstr("every 5 h"));
  EXPECT_TRUE(std::ranges::all_of(w.outages, [](const Outage& o) { return o.node == NodeId(0); }));
  const ReplayResult r = run(w);
  EXPECT_GT(r.node_losses, 2) << "40 h at one in 5 h";
  EXPECT_GT(r.starts, 2);
  EXPECT_GT(r.gpu_hours.lost, 0);
  EXPECT_EQ(r.endings[static_cast<size_t>(JobEnding::kSucceeded)], 2);
  EXPECT_NEAR(r.gpu_hours.useful, 2 * 8 * 40, 1e-6);
  Workload again = two_machines();
  again.jobs = w.jobs;
  again.requests = w.requests;
  change(again, "switch-market:a=spot", Duration::hours(5));
  EXPECT_EQ(again.outages, w.outages) << "the same seed draws the same";
}

TEST(ChangeReplay, SpotWithoutInterruptionsChangesThePriceAlone) {
  Workload w = two_machines();
  add_job(w, 8, Duration::hours(10));
  change(w, "switch-market:a,b=spot", sched::kUnlimited);
  EXPECT_TRUE(w.outages.empty());
  EXPECT_LT(run(w).money.total, Money::units(400));
}

TEST(ChangeReplay, FourServicesShareTwoGpusOfOneMachine) {
  for (const char* how : {"share:a,b=mps:0.5@a", "share:a,b=mig:3g.20gb@a"}) {
    Workload w = two_machines();
    for (const char* node : {"a", "a", "b", "b"})
      add_job(w, 1, Duration::hours(10), {node});
    add_job(w, 6, Duration::hours(10), {"a"});
    change(w, how);
    ASSERT_EQ(w.nodes.size(), 1U) << how;
    const ReplayResult r = run(w);
    // Six whole GPUs and four halves of the other two: all at once on one machine.
    EXPECT_EQ(r.waiting.max_s, 0) << how;
    EXPECT_EQ(r.makespan, Duration::hours(10)) << how;
    EXPECT_EQ(r.money.total, Money::units(200)) << how;
  }
}

TEST(ChangeReplay, AServiceGetsThePartOfItsOwnPlacement) {
  Workload w = two_machines();
  add_job(w, 1, Duration::hours(1), {"b"});
  add_job(w, 1, Duration::hours(1), {"b"});
  ShareGpus share{.mode = SharingMode::kMps, .nodes = {"a", "b"}, .keep = {"a"}, .placements = {}};
  share.placements.push_back(
      {.workload = "job 2", .from_node = "b", .to_node = "a", .mig_profile = "", .parts = kWholeDevice / 4});
  share.placements.push_back(
      {.workload = "other", .from_node = "b", .to_node = "a", .mig_profile = "", .parts = kWholeDevice / 2});
  ASSERT_TRUE(apply_change(w, share, {.catalog = &catalog()}).ok());
  const auto milli_of = [&](size_t job) { return w.requests[w.jobs[job].spec.request.index()].milli; };
  EXPECT_EQ(milli_of(0), 500) << "it is not named: the largest part of its node";
  EXPECT_EQ(milli_of(1), 250);
}

TEST(ChangeReplay, WorkThatLeavesTheGpuRunsOnTheCpuMachineInItsPlace) {
  Workload w = two_machines();
  add_job(w, 4, Duration::hours(2), {"b"});
  add_job(w, 4, Duration::hours(2), {"b"});
  add_job(w, 4, Duration::hours(2), {"b"});
  add_job(w, 8, Duration::hours(6), {"a"});
  change(w, "move-off-gpu:b=c7i.2xlarge");
  ASSERT_EQ(w.nodes.size(), 2U);
  EXPECT_EQ(w.nodes[1].node.gpus, 0);
  const ReplayResult r = run(w);
  EXPECT_EQ(r.endings[static_cast<size_t>(JobEnding::kSucceeded)], 4);
  // Each holds half of the CPU machine, as it held half of the GPU machine: the third waits.
  EXPECT_DOUBLE_EQ(r.waiting.max_s, 2 * 3600);
  EXPECT_NEAR(r.money.total.to_double(), 6 * (20 + w.nodes[1].rate.per_hour().to_double()), 1e-6);
}

}  // namespace
}  // namespace stint::sim
