#include "daemon/engine/engine.h"

#include <gmock/gmock.h>

#include "daemon/testing_daemon.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<RunPosting> postings_of(EventLog& log) {
  std::vector<RunPosting> all;
  const Status read = log.read_postings(0, [&](int64_t, const RunPosting& p) -> Status {
    all.push_back(p);
    return {};
  });
  CHECK(read.ok(), "{}", read.error().message);
  return all;
}

TEST(Engine, RunsAJobAndPostsWhatItCost) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db");
  const int64_t id = daemon.submit(testing_job(4, Duration::minutes(90)));
  EXPECT_EQ(daemon.job(id).state, JobState::kRunning);
  daemon.pass(Duration::hours(2));
  const JobView job = daemon.job(id);
  EXPECT_EQ(job.state, JobState::kSucceeded);
  EXPECT_EQ(job.client, "acme");
  // 4 of 8 GPUs of a machine at 16 an hour, for 1.5 hours.
  EXPECT_EQ(job.cost, Money::units(12));
  EXPECT_EQ(job.micro_gpu_hours, 6'000'000);
  EXPECT_THAT(postings_of(daemon.log()), ElementsAre(RunPosting{.job = id,
                                                                .attempt = 0,
                                                                .task = 0,
                                                                .client = "acme",
                                                                .queue = "acme/vision",
                                                                .node = "n0",
                                                                .when = {kDaemonStart, kDaemonStart + Duration::minutes(90)},
                                                                .gpu_milli = 4'000,
                                                                .amount = Money::units(12)}));
}

TEST(Engine, CostOfARunningJobGrowsWithTime) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db");
  const int64_t id = daemon.submit(testing_job(8, Duration::hours(10)));
  daemon.pass(Duration::hours(1));
  daemon.submit(testing_job(1, Duration::hours(1)));
  EXPECT_EQ(daemon.job(id).cost, Money::units(16));
}

/// Nothing happens for an hour and a half: what is shown grows all the same, and nothing is written for it.
TEST(Engine, CostsAndGpuHoursGrowBetweenSteps) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db");
  const int64_t id = daemon.submit(testing_job(4, Duration::hours(10)));
  const EngineView before = daemon.engine().overview();
  const Instant later = kDaemonStart + Duration::minutes(90);
  daemon.engine().look(later);
  // 4 of 8 GPUs of a machine at 16 an hour, for 1.5 hours.
  EXPECT_EQ(daemon.job(id).cost, Money::units(12));
  EXPECT_EQ(daemon.job(id).micro_gpu_hours, 6'000'000);
  EXPECT_EQ(daemon.engine().jobs({}, std::nullopt, 10).jobs[0].cost, Money::units(12));
  const std::vector<QueueView> queues = daemon.engine().queues();
  for (const std::string_view path : {"acme", "acme/vision"}) {
    const auto queue = std::ranges::find(queues, path, &QueueView::path);
    EXPECT_EQ(queue->cost, Money::units(12)) << path;
    EXPECT_EQ(queue->month_micro_gpu_hours, 6'000'000) << path;
  }
  EXPECT_EQ(daemon.engine().overview().now, later);
  EXPECT_EQ(daemon.engine().overview().fingerprint, before.fingerprint);
  EXPECT_EQ(daemon.engine().overview().last_sequence, before.last_sequence);
  EXPECT_TRUE(postings_of(daemon.log()).empty());
  daemon.engine().look(kDaemonStart - kHour);  // never before the last step
  EXPECT_EQ(daemon.job(id).cost, Money::units(0));
  // What was looked at is not paid twice.
  daemon.engine().look(later);
  daemon.pass(Duration::hours(11));
  EXPECT_EQ(daemon.job(id).cost, Money::units(80));
}

TEST(Engine, AJobWhoseDependencyFailsSaysWhichAndHow) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db");
  const int64_t cancelled = daemon.submit(testing_job(1, Duration::hours(10)));
  const int64_t good = daemon.submit(testing_job(1, Duration::minutes(1)));
  JobRequest behind = testing_job(1, kHour);
  behind.after = {good, cancelled};
  const int64_t waits = daemon.submit(behind);
  JobRequest last = testing_job(1, kHour);
  last.after = {waits};
  const int64_t after_that = daemon.submit(last);
  daemon.pass(Duration::minutes(2));
  ASSERT_TRUE(daemon.engine().stage_cancel(cancelled, {}).ok());
  ASSERT_TRUE(daemon.commit().ok());
  daemon.pass(Duration::minutes(2));
  EXPECT_EQ(daemon.job(waits).state, JobState::kDependencyFailed);
  EXPECT_EQ(daemon.job(waits).reason, "job acme-1 was cancelled");
  EXPECT_EQ(daemon.job(after_that).reason, "job acme-3 waited for a job that did not succeed");
}

TEST(Engine, TheSameKeyWithTheSameRequestIsOneJob) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db");
  const JobRequest job = testing_job(1, kHour);
  EXPECT_EQ(daemon.submit(job, "k1"), 1);
  EXPECT_EQ(daemon.submit(job, "k1"), 1);
  EXPECT_EQ(daemon.submit(job, "k2"), 2);
  daemon.restart();
  EXPECT_EQ(daemon.submit(job, "k1"), 1);
  const auto other = daemon.engine().stage_submit(testing_job(2, kHour), {.actor = "", .idempotency_key = "k1"});
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::kConflict);
  // Twice in one step, too.
  EXPECT_EQ(*daemon.engine().stage_submit(job, {.actor = "", .idempotency_key = "k3"}), 3);
  EXPECT_EQ(*daemon.engine().stage_submit(job, {.actor = "", .idempotency_key = "k3"}), 3);
  ASSERT_TRUE(daemon.commit().ok());
  EXPECT_EQ(daemon.engine().overview().jobs, 3);
}

TEST(Engine, LearnsHowLongJobsRunAndKnowsItAfterARestart) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db");
  const auto named = [](std::string name, int gpus, Duration run_time) {
    JobRequest job = testing_job(gpus, run_time);
    job.name = std::move(name);
    return job;
  };
  for (int i = 0; i < 6; ++i) {
    daemon.submit(named("train-" + std::to_string(i), 8, Duration::hours(4)));
    daemon.pass(Duration::hours(5));
  }
  ASSERT_TRUE(daemon.engine().mark().ok());
  daemon.restart();
  for (int machine = 0; machine < 2; ++machine)
    daemon.submit(named("train-7", 8, Duration::hours(4)));
  const int64_t waits = daemon.submit(named("train-8", 8, Duration::hours(4)));
  const std::string why = daemon.engine().why(waits).value();
  EXPECT_THAT(why, HasSubstr("(from 6 jobs of the same script; 80 %: "));
  const auto explained = daemon.engine().explain(waits);
  EXPECT_NEAR(explained->expected->typical.to_hours(), 4, 1);
  ASSERT_TRUE(explained->likely_start);
  EXPECT_NEAR((explained->likely_start->at - daemon.now()).to_hours(), 4, 1);
  const auto other = daemon.engine().explain(daemon.submit(testing_job(8, kHour, "zoo")));
  EXPECT_FALSE(other->expected) << "what another client's jobs took is not told";
}

TEST(Engine, LearnsFromAHistoryOnceAndOnlyBeforeJobsHaveEnded) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db");
  std::vector<sim::RunLength> runs;
  for (int i = 0; i < 20; ++i)
    runs.push_back({.user = "acme/ada", .name = "train", .gpu_milli = 8000, .ran = Duration::hours(3), .ended = kDaemonStart});
  runs.push_back({.user = "acme/a\tb", .name = "x", .gpu_milli = 8000, .ran = kHour, .ended = kDaemonStart});
  EXPECT_EQ(daemon.engine().stage_learn(runs).value(), 20) << "a tab is in no name of this daemon's users";
  ASSERT_TRUE(daemon.commit().ok());
  EXPECT_EQ(daemon.engine().stage_learn(runs).value(), 0);
  const auto expected_hours = [&] {
    const auto e = daemon.engine().explain(daemon.submit(testing_job(8, Duration::minutes(1))))->expected;
    return e ? e->typical.to_hours() : 0;
  };
  EXPECT_NEAR(expected_hours(), 3, 0.7);
  daemon.restart();  // reads the record again
  EXPECT_NEAR(expected_hours(), 3, 0.7);
}

TEST(Engine, ComesBackAsItWas) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db");
  for (int i = 0; i < 30; ++i)
    daemon.submit(testing_job(1 + i % 8, Duration::minutes(7 + i), i % 3 == 0 ? "zoo" : "acme/vision"));
  daemon.pass(Duration::minutes(20));
  const uint64_t before = daemon.engine().fingerprint();
  const int64_t events = daemon.engine().last_event();
  ASSERT_TRUE(daemon.engine().mark().ok());
  daemon.restart();
  EXPECT_EQ(daemon.engine().fingerprint(), before);
  EXPECT_EQ(daemon.engine().last_event(), events);
  EXPECT_EQ(daemon.engine().recovery().snapshot_step, daemon.log().last_step());
  EXPECT_EQ(daemon.engine().recovery().steps, 0);
  daemon.pass(Duration::hours(10));
  for (int64_t id = 1; id <= 30; ++id)
    EXPECT_EQ(daemon.job(id).state, JobState::kSucceeded) << id;
}

TEST(Engine, AnArrayIsAsManyJobs) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db");
  JobRequest job = testing_job(1, kHour);
  job.array = 5;
  job.at_once = 2;
  EXPECT_EQ(daemon.submit(job), 1);
  EXPECT_EQ(daemon.submit(testing_job(1, kHour)), 6);
  const JobPage running = daemon.engine().jobs({.state = JobState::kRunning}, std::nullopt, 10);
  EXPECT_EQ(running.jobs.size(), 3U);
  EXPECT_EQ(daemon.job(4).array, 1);
  EXPECT_EQ(daemon.job(4).array_index, 3);
  EXPECT_THAT(*daemon.engine().why(4), HasSubstr("of its array"));
}

TEST(Engine, HeldJobsWaitForTheirRelease) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db");
  JobRequest job = testing_job(1, kHour);
  job.on_hold = true;
  const int64_t held = daemon.submit(job);
  EXPECT_EQ(daemon.job(held).state, JobState::kOnHold);
  EXPECT_THAT(*daemon.engine().why(held), HasSubstr("on hold"));
  const int64_t blocker = daemon.submit(testing_job(8, kHour));
  const int64_t second = daemon.submit(testing_job(8, kHour));
  const int64_t waits = daemon.submit(testing_job(8, kHour));
  EXPECT_EQ(daemon.job(blocker).state, JobState::kRunning);
  ASSERT_EQ(daemon.job(waits).state, JobState::kWaiting);
  ASSERT_TRUE(daemon.engine().stage_hold(waits, {}).ok());
  ASSERT_TRUE(daemon.commit().ok());
  daemon.pass(Duration::hours(3));
  EXPECT_EQ(daemon.job(second).state, JobState::kSucceeded);
  EXPECT_EQ(daemon.job(waits).state, JobState::kOnHold);
  for (const int64_t id : {held, waits})
    ASSERT_TRUE(daemon.engine().stage_release(id, {}).ok());
  ASSERT_TRUE(daemon.commit().ok());
  daemon.pass(Duration::hours(2));
  EXPECT_EQ(daemon.job(held).state, JobState::kSucceeded);
  EXPECT_EQ(daemon.job(waits).state, JobState::kSucceeded);
}

TEST(Engine, CancelledJobsLeaveAndPayForWhatTheyHad) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db");
  const int64_t id = daemon.submit(testing_job(8, Duration::hours(5)));
  daemon.pass(kHour);
  ASSERT_TRUE(daemon.engine().stage_cancel(id, {}).ok());
  ASSERT_TRUE(daemon.commit().ok());
  daemon.pass(Duration::minutes(1));
  EXPECT_EQ(daemon.job(id).state, JobState::kCancelled);
  EXPECT_EQ(daemon.job(id).cost, Money::units(16));
  EXPECT_EQ(daemon.engine().stage_cancel(id, {}).error().code, ErrorCode::kConflict);
  EXPECT_EQ(daemon.engine().stage_cancel(99, {}).error().code, ErrorCode::kNotFound);
}

TEST(Engine, DrainedNodesTakeNothingNew) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", testing_fleet(1));
  daemon.submit(testing_job(4, kHour));
  ASSERT_TRUE(daemon.engine().stage_drain("n0", {}).ok());
  ASSERT_TRUE(daemon.commit().ok());
  const int64_t waits = daemon.submit(testing_job(4, kHour));
  EXPECT_EQ(daemon.engine().nodes()[0].state, NodeState::kDraining);
  daemon.pass(Duration::hours(2));
  EXPECT_EQ(daemon.engine().nodes()[0].state, NodeState::kDrained);
  EXPECT_EQ(daemon.job(waits).state, JobState::kWaiting);
  ASSERT_TRUE(daemon.engine().stage_up("n0", {}).ok());
  ASSERT_TRUE(daemon.commit().ok());
  EXPECT_EQ(daemon.job(waits).state, JobState::kRunning);
}

TEST(Engine, ALostNodeLosesItsTasksAndTheyComeAgain) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db");
  const int64_t id = daemon.submit(testing_job(8, kHour));
  const std::string node = daemon.job(id).placed[0].node;
  daemon.pass(Duration::minutes(30));
  ASSERT_TRUE(daemon.engine().stage_down(node, {}).ok());
  ASSERT_TRUE(daemon.commit().ok());
  EXPECT_EQ(daemon.job(id).starts, 2);
  EXPECT_NE(daemon.job(id).placed[0].node, node);
  daemon.pass(Duration::hours(2));
  EXPECT_EQ(daemon.job(id).state, JobState::kSucceeded);
  // Half an hour that was lost and the hour again.
  EXPECT_EQ(daemon.job(id).cost, Money::units(24));
  EXPECT_EQ(postings_of(daemon.log()).size(), 2U);
}

TEST(Engine, AFailedTaskStopsItsGangBeforeItIsTriedAgain) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db");
  JobRequest gang = testing_job(8, kHour);
  gang.tasks = 2;
  gang.retries = 1;
  const int64_t id = daemon.submit(gang);
  daemon.pass(Duration::minutes(10));
  daemon.engine().stage_report({.kind = ReportKind::kEnded,
                                .key = {.job = id, .attempt = 0, .task = 1},
                                .at = daemon.now(),
                                .status = {.code = 1, .signal = 0}});
  ASSERT_TRUE(daemon.commit().ok());
  // Its other task is told to stop, and holds its GPUs until it has.
  EXPECT_EQ(daemon.job(id).starts, 1);
  daemon.pass(Duration::minutes(1));
  EXPECT_EQ(daemon.job(id).starts, 2);
  EXPECT_EQ(daemon.job(id).failures, 1);
  daemon.pass(Duration::hours(2));
  EXPECT_EQ(daemon.job(id).state, JobState::kSucceeded);
}

TEST(Engine, ATaskThatGotLostComesAgainWithoutARetry) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db");
  const int64_t id = daemon.submit(testing_job(2, kHour));
  daemon.pass(Duration::minutes(10));
  daemon.engine().stage_report({.kind = ReportKind::kLost, .key = {.job = id, .attempt = 0, .task = 0}, .at = daemon.now()});
  ASSERT_TRUE(daemon.commit().ok());
  EXPECT_EQ(daemon.job(id).state, JobState::kRunning);
  EXPECT_EQ(daemon.job(id).starts, 2);
  EXPECT_EQ(daemon.job(id).failures, 0);
  EXPECT_EQ(daemon.job(id).placed[0].attempt, 1);
}

TEST(Engine, TimeLimitsHoldOverARestart) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db");
  JobRequest job = testing_job(1, Duration::hours(5));
  job.time_limit = kHour;
  const int64_t id = daemon.submit(job);
  daemon.pass(Duration::minutes(59));
  daemon.restart();
  daemon.pass(Duration::minutes(2));
  EXPECT_EQ(daemon.job(id).state, JobState::kTimeLimit);
  EXPECT_EQ(daemon.job(id).cost, Money::units(2));
}

TEST(Engine, APriceThatChangesCountsFromThenOn) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db");
  const int64_t id = daemon.submit(testing_job(8, Duration::hours(2)));
  daemon.pass(kHour);
  FleetConfig dearer = testing_fleet();
  for (Machine& node : dearer.nodes)
    node.rate = Rate::per_hour(Money::units(20));
  ASSERT_TRUE(daemon.engine().stage_fleet(dearer, {}).ok());
  ASSERT_TRUE(daemon.commit().ok());
  daemon.pass(Duration::hours(2));
  EXPECT_EQ(daemon.job(id).cost, Money::units(16 + 20));
  EXPECT_EQ(postings_of(daemon.log()).size(), 2U);
}

TEST(Engine, APartOfAGpuThatIsCutForGoodIsPaidByItsSlices) {
  const ScratchDir dir;
  const auto cut = parse_fleet_config(
      R"({"nodes":[{"name":"n0","gpu_model":"A100-80GB","gpus":1,"per_hour":"7","mig":{"2g.20gb":"3"}}],"queues":[{"name":"acme"}]})",
      "a fleet of parts");
  ASSERT_TRUE(cut.ok()) << cut.error().message;
  TestingDaemon daemon(dir / "log.db", *cut);
  JobRequest job = testing_job(0, kHour, "acme");
  job.mig_profile = "2g.20gb";
  const int64_t id = daemon.submit(job);
  daemon.pass(kHour * 2);
  EXPECT_EQ(daemon.job(id).state, JobState::kSucceeded);
  // Two of seven slices: 285 thousandths of a GPU at 7 an hour.
  EXPECT_EQ(daemon.job(id).cost, Money::nanos(1'995'000'000, Currency()));
  EXPECT_EQ(daemon.job(id).micro_gpu_hours, 285'000);
}

TEST(Engine, NewNodesAndQueuesJoinAndOldNodesDrain) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", testing_fleet(1));
  const int64_t first = daemon.submit(testing_job(8, kHour));
  const int64_t second = daemon.submit(testing_job(8, kHour));
  EXPECT_EQ(daemon.job(second).state, JobState::kWaiting);
  FleetConfig next = testing_fleet(2);
  next.nodes.erase(next.nodes.begin());
  next.queues.push_back({.name = "new"});
  ASSERT_TRUE(daemon.engine().stage_fleet(next, {}).ok());
  ASSERT_TRUE(daemon.commit().ok());
  EXPECT_EQ(daemon.job(first).state, JobState::kRunning);
  EXPECT_EQ(daemon.job(second).placed[0].node, "n1");
  EXPECT_EQ(daemon.engine().nodes()[0].state, NodeState::kDraining);
  daemon.submit(testing_job(1, kHour, "new"));
}

}  // namespace
}  // namespace stint
