#include "sim/replay.h"

#include <gtest/gtest.h>

#include "sched/policy_text.h"
#include "sched/scheduler.h"
#include "sim/testing_workload.h"
#include "sim/toy_scheduler.h"

namespace stint::sim {
namespace {

using namespace testing_workload;

ReplayResult run(const Workload& w, const ReplayOptions& options = {}) {
  CHECK(check_workload(w).ok(), "{}", check_workload(w).error().message);
  ToyScheduler toy;
  return replay(toy, w, options);
}

TEST(Replay, TellsWhatWasPaidAtMarksAndGoesOnToTheLast) {
  // Six an hour from the first mark on, half an hour before the only job, which takes one; the last mark is two hours after it.
  const ReplayResult r = run(workload({node("a", 1, 6)}, {job(0, 60)}), {.marks = {at(-30), at(0), at(30), at(60), at(180)}});
  ASSERT_EQ(r.paid_at_marks.size(), 5U);
  const std::array<int64_t, 5> expected = {0, 3, 6, 9, 21};
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(r.paid_at_marks[i], Money::units(expected[i])) << i;
  EXPECT_EQ(r.money.total, Money::units(21));
  EXPECT_EQ(r.period.end, at(180));
}

TEST(Replay, CountsWaitingCompletionUseAndMoney) {
  // One GPU; two jobs of an hour at once: the second waits for one.
  const ReplayResult r = run(workload({node("a", 1, 6)}, {job(0, 60), job(0, 60)}));
  EXPECT_EQ(r.waiting.count, 2);
  EXPECT_DOUBLE_EQ(r.waiting.mean_s, 1'800);
  EXPECT_DOUBLE_EQ(r.waiting.p99_s, 3'600);
  EXPECT_DOUBLE_EQ(r.completion.mean_s, 5'400);
  EXPECT_DOUBLE_EQ(r.completion_by_size[static_cast<size_t>(SizeClass::kUpTo1)].mean_s, 5'400);
  EXPECT_EQ(r.completion_by_size[static_cast<size_t>(SizeClass::k2To4)].count, 0);
  EXPECT_EQ(r.makespan, Duration::hours(2));
  EXPECT_DOUBLE_EQ(r.gpu_hours.available, 2);
  EXPECT_DOUBLE_EQ(r.gpu_hours.useful, 2);
  EXPECT_DOUBLE_EQ(r.utilization_pct, 100);
  EXPECT_EQ(r.money.total, Money::units(12));
  EXPECT_EQ(r.jobs[1].cost, Money::units(6));
  EXPECT_EQ(r.money.idle, Money::units(0));
  EXPECT_EQ(r.endings[static_cast<size_t>(JobEnding::kSucceeded)], 2);
  ASSERT_EQ(r.occupancy.size(), 2u);
  EXPECT_EQ(r.occupancy[1].when, (Interval{at(60), at(120)}));
}

TEST(Replay, IdleMoneyIsWhatNoJobHolds) {
  // 2 of 4 GPUs for 30 minutes at 8 an hour: 2 to the job, 2 idle.
  const ReplayResult r = run(workload({node("a", 4, 8)}, {job(0, 30, 2)}));
  EXPECT_EQ(r.money.jobs, Money::units(2));
  EXPECT_EQ(r.money.idle, Money::units(2));
  EXPECT_DOUBLE_EQ(r.allocation_pct, 50);
}

TEST(Replay, AnEvictionCostsTheWorkSinceTheLastCheckpointAndTheRestart) {
  SimJob low = job(0, 60);
  low.spec.checkpoint = {Duration::minutes(10), Duration::minutes(1), Duration::minutes(3)};
  SimJob high = job(25, 30);
  high.spec.priority = 90;
  const Workload w = workload({node("a", 1, 1)}, {low, high});
  // At 25 min it has worked 10, saved 1, worked 10, saved 1, worked 3: those 3 are lost without saving on leaving.
  const ReplayResult harsh = run(w, {.save_when_leaving = false});
  EXPECT_NEAR(harsh.gpu_hours.lost, 3 / 60.0, 1e-9);
  EXPECT_EQ(harsh.jobs[0].evictions, 1);
  EXPECT_EQ(harsh.jobs[1].ended, at(55));
  // 3 min restart, 40 min of work with 3 checkpoints on the way.
  EXPECT_EQ(harsh.jobs[0].ended, at(55 + 3 + 40 + 3));
  EXPECT_NEAR(harsh.gpu_hours.overhead, (2 + 3 + 3) / 60.0, 1e-9);
  // Saving on leaving takes a minute of the grace and keeps all 23.
  const ReplayResult kind = run(w);
  EXPECT_DOUBLE_EQ(kind.gpu_hours.lost, 0);
  EXPECT_EQ(kind.jobs[1].first_start, at(26));
  EXPECT_EQ(kind.jobs[0].ended, at(56 + 3 + 37 + 3));
}

TEST(Replay, AJobThatNeverSavesLosesAll) {
  SimJob high = job(25, 30);
  high.spec.priority = 90;
  const ReplayResult r = run(workload({node("a", 1, 1)}, {job(0, 60), high}));
  EXPECT_NEAR(r.gpu_hours.lost, 25 / 60.0, 1e-9);
  EXPECT_EQ(r.jobs[0].ended, at(25 + 30 + 60));
}

TEST(Replay, ALostNodeSendsTheJobBackAndIsNotPaidForWhileItIsAway) {
  Workload w = workload({node("a", 1, 60)}, {job(0, 60)});
  w.outages.push_back({NodeId(0), OutageCause::kNodeFailure, at(20), at(20), at(50)});
  const ReplayResult r = run(w);
  EXPECT_EQ(r.jobs[0].lost_tasks, 1);
  EXPECT_EQ(r.jobs[0].starts, 2);
  EXPECT_EQ(r.jobs[0].ended, at(110));
  EXPECT_NEAR(r.gpu_hours.lost, 20 / 60.0, 1e-9);
  EXPECT_NEAR(r.gpu_hours.available, 80 / 60.0, 1e-9);
  EXPECT_EQ(r.money.total, Money::units(80));
  w.nodes[0].market = Market::kOwned;
  EXPECT_EQ(run(w).money.total, Money::units(110));
  // Its time ends while it is away: nothing is paid from then on.
  w.nodes[0].present_until = at(30);
  w.nodes.push_back(node("b", 1, 0));
  EXPECT_EQ(run(w).money.total, Money::units(30));
}

TEST(Replay, PricesChangeWhileJobsRun) {
  Workload w = workload({node("a", 1, 60)}, {job(0, 60)});
  w.prices.push_back({"spot", {{at(-100), Rate::per_hour(Money::units(6))}, {at(30), Rate::per_hour(Money::units(12))}}});
  w.nodes[0].prices = 0;
  EXPECT_EQ(run(w).jobs[0].cost, Money::units(3 + 6));
}

TEST(Replay, AJobThatFailsMoreOftenThanItIsRetriedHasFailed) {
  SimJob flaky = job(0, 60);
  flaky.failures = 1;
  flaky.fails_after = Duration::minutes(10);
  const ReplayResult r = run(workload({node("a", 1, 1)}, {flaky}));
  EXPECT_EQ(r.jobs[0].ending, JobEnding::kFailed);
  EXPECT_EQ(r.jobs[0].ended, at(10));
  EXPECT_NEAR(r.gpu_hours.lost, 10 / 60.0, 1e-9);
  EXPECT_DOUBLE_EQ(r.gpu_hours.useful, 0);
}

TEST(Replay, WorkThatEndsWhenItsMachineGoesHasEnded) {
  // The machine is there for the hour that the job takes, and again after another one.
  Workload w = workload({node("a", 1, 6)}, {job(0, 60), job(150, 10)});
  w.outages = {{NodeId(0), OutageCause::kMaintenance, at(60), at(60), at(120)}};
  sched::Scheduler scheduler(sched::parse_policy("fifo").value());
  const ReplayResult r = replay(scheduler, w);
  EXPECT_EQ(r.endings[static_cast<size_t>(JobEnding::kSucceeded)], 2);
  EXPECT_EQ(r.jobs[0].starts, 1);
  EXPECT_EQ(r.jobs[0].ended, at(60));
}

TEST(Replay, EndsAtTheTimeGivenWithWhatIsLeftNamed) {
  const ReplayResult r = run(workload({node("a", 1, 1)}, {job(0, 60), job(0, 60), job(100, 1)}), {.until = at(30)});
  EXPECT_EQ(r.jobs[0].ending, JobEnding::kRunning);
  EXPECT_EQ(r.jobs[1].ending, JobEnding::kWaiting);
  EXPECT_EQ(r.jobs[2].ending, JobEnding::kNotSubmitted);
  EXPECT_EQ(r.period.end, at(30));
  EXPECT_NEAR(r.gpu_hours.useful, 0.5, 1e-9);
}

TEST(Replay, TheTimeLineIsBoundedAndEndsWithTheEnd) {
  std::vector<SimJob> jobs;
  for (int i = 0; i < 500; ++i)
    jobs.push_back(job(i, 7));
  const ReplayResult r = run(workload({node("a", 4, 1)}, jobs), {.timeline_points = 50});
  EXPECT_LE(r.timeline.size(), 51u);
  EXPECT_GE(r.timeline.size(), 25u);
  EXPECT_EQ(r.timeline.back().at, r.period.end);
  EXPECT_EQ(r.timeline.back().cost, r.money.total);
  for (size_t i = 1; i < r.timeline.size(); ++i)
    EXPECT_LT(r.timeline[i - 1].at, r.timeline[i].at);
}

TEST(Replay, SameInputSameFingerprintAndAnotherOneForAnother) {
  const Workload w = workload({node("a", 2, 1)}, {job(0, 60), job(1, 50), job(2, 40)});
  EXPECT_EQ(run(w).fingerprint, run(w).fingerprint);
  Workload other = w;
  other.jobs[2].run_time = Duration::minutes(41);
  EXPECT_NE(run(w).fingerprint, run(other).fingerprint);
}

TEST(Replay, RefusesWhatContradictsItself) {
  Workload w = workload({node("a", 1, 1)}, {job(5, 60), job(0, 60)});
  EXPECT_NE(check_workload(w).error().message.find("sort by time"), std::string::npos);
  w.jobs.pop_back();
  w.outages = {{NodeId(0), OutageCause::kMaintenance, at(0), at(10), at(20)},
               {NodeId(0), OutageCause::kMaintenance, at(15), at(30), at(40)}};
  EXPECT_NE(check_workload(w).error().message.find("overlaps"), std::string::npos);
}

TEST(FreeGauge, CountsWhatTheWorkloadsRequestsCannotUse) {
  // Half of the tasks ask for 2 GPUs, half for 600 milli.
  Workload w = workload({node("a", 4, 1)}, {job(0, 1), job(0, 1)});
  w.requests = {{.gpus = 2}, {.milli = 600}};
  w.jobs[1].spec.request = sched::RequestId(1);
  FreeGauge gauge(w);
  gauge.set_up(NodeId(0), true);
  EXPECT_EQ(gauge.free_milli(), 4'000);
  EXPECT_DOUBLE_EQ(gauge.unusable_milli(), 0);
  gauge.change(NodeId(0), 0b0111, 0, -1);  // one GPU left: no good for pairs
  EXPECT_DOUBLE_EQ(gauge.unusable_milli(), 500);
  gauge.change(NodeId(0), 0b1000, 500, -1);  // half of one: no good for anybody
  EXPECT_EQ(gauge.free_milli(), 500);
  EXPECT_DOUBLE_EQ(gauge.unusable_milli(), 500);
  gauge.set_up(NodeId(0), false);
  EXPECT_EQ(gauge.free_milli(), 0);
}

TEST(JobProgress, HalfTheTasksTakeTwiceAsLong) {
  JobProgress progress(job(0, 60, 4));
  progress.start(at(0), 4);
  EXPECT_EQ(progress.next_change(), at(60));
  progress.resize(at(30), 2);
  EXPECT_EQ(progress.next_change(), at(90));
  progress.resize(at(60), 4);
  EXPECT_EQ(progress.next_change(), at(75));
  EXPECT_EQ(progress.pass(at(75)), JobProgress::Change::kFinished);
  EXPECT_TRUE(progress.done() == progress.total());
}

TEST(CostMeter, PartsAreTheWholeWhateverTheRoundings) {
  // A third of a nano-unit a second over a thousand changes of hands.
  Workload w = workload({node("a", 3, 0)}, {job(0, 1), job(0, 1)});
  w.nodes[0].rate = Rate::per_hour(Money::nanos(1'200));
  CostMeter meter(w);
  meter.set_paid(NodeId(0), true, kBegin);
  for (int i = 0; i < 1'000; ++i)
    meter.hold(NodeId(0), sched::JobId(static_cast<uint32_t>(i / 2 % 2)), i % 2 == 0 ? 1'000 : -1'000,
               kBegin + Duration::seconds(i));
  meter.read_all(kBegin + Duration::seconds(3'000));
  EXPECT_EQ(meter.total(), Money::nanos(1'000));
  EXPECT_EQ(meter.of_job(sched::JobId(0)) + meter.of_job(sched::JobId(1)) + meter.idle(), Money::nanos(1'000));
}

}  // namespace
}  // namespace stint::sim
