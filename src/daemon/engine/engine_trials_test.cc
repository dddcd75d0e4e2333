// Trials of a study: measured against each other, stopped when hopeless, and the same after every kind of start.
#include <gmock/gmock.h>

#include "daemon/api/view_json.h"
#include "daemon/testing_daemon.h"

namespace stint {
namespace {

using ::testing::HasSubstr;

JobRequest trial(const std::string& queue = "acme/vision") {
  JobRequest job = testing_job(1, Duration::hours(5), queue);
  job.study = "lr";
  job.rungs = {.first_rung = 1, .most = 9, .reduction = 3};
  return job;
}

std::vector<std::string> seen(const Engine& engine) {
  std::vector<std::string> all;
  for (const JobView& job : engine.jobs({.study = "lr"}, std::nullopt, 100).jobs)
    all.push_back(to_json(job).dump());
  return all;
}

TEST(EngineTrials, AreMeasuredAsBeforeAfterARestartFromTheLogAndFromASnapshot) {
  for (const bool from_snapshot : {false, true}) {
    SCOPED_TRACE(from_snapshot);
    const ScratchDir dir;
    EngineOptions options;
    options.records_between_snapshots = from_snapshot ? 1 : INT64_MAX;
    TestingDaemon daemon(dir / "log.db", testing_fleet(), options, {.sync = false});
    JobRequest many = trial();
    many.array = 4;
    const int64_t first = daemon.submit(many);
    const auto report = [&](int64_t job, int32_t rung, int64_t loss_micro) {
      const Status staged = daemon.engine().stage_trial(job, rung, loss_micro, {.actor = "ada"});
      EXPECT_TRUE(staged.ok()) << staged.error().message;
      EXPECT_TRUE(daemon.commit().ok());
      for (int i = 0; i < 100 && daemon.engine().writes_snapshot(); ++i)
        EXPECT_TRUE(daemon.engine().write_snapshot_part().ok());
    };
    const auto state = [&](int64_t job) { return daemon.engine().job(job)->state; };
    report(first, 0, 500'000);
    report(first + 1, 0, 250'000);
    const uint64_t fingerprint = daemon.engine().fingerprint();
    const std::vector<std::string> before = seen(daemon.engine());
    daemon.restart();
    EXPECT_EQ(daemon.engine().recovery().snapshot_step > 0, from_snapshot);
    EXPECT_EQ(daemon.engine().fingerprint(), fingerprint);
    EXPECT_EQ(seen(daemon.engine()), before);
    // Of three one goes on: the third is worse than the second.
    report(first + 2, 0, 300'000);
    daemon.pass(Duration::minutes(2));
    EXPECT_EQ(state(first + 2), JobState::kStopped);
    EXPECT_THAT(daemon.engine().job(first + 2)->reason, HasSubstr("trial"));
    EXPECT_EQ(state(first + 1), JobState::kRunning);
    // Of four the best one still: 4 / 3 rounded down.
    report(first + 3, 0, 100'000);
    EXPECT_EQ(state(first + 3), JobState::kRunning);
    report(first + 3, 2, 90'000);  // the last rung: no trial is stopped there
    EXPECT_EQ(state(first + 3), JobState::kRunning);
    const JobView view = *daemon.engine().job(first + 3);
    EXPECT_EQ(view.trial->rungs, (std::vector<int64_t>{1, 3, 9}));
    ASSERT_EQ(view.trial->reports.size(), 2U);
    EXPECT_EQ(view.trial->reports[1].rung, 2);
  }
}

TEST(EngineTrials, WhatCannotBeTakenIsRefused) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", testing_fleet(), {}, {.sync = false});
  const int64_t job = daemon.submit(trial()), other = daemon.submit(testing_job(1, Duration::hours(1)));
  const auto error = [&](int64_t id, int32_t rung) {
    const Status staged = daemon.engine().stage_trial(id, rung, 1);
    return staged.ok() ? std::string() : staged.error().message;
  };
  EXPECT_THAT(error(other, 0), HasSubstr("no trial"));
  EXPECT_THAT(error(job, 3), HasSubstr("rungs 0 to 2"));
  EXPECT_THAT(error(99, 0), HasSubstr("no such job"));
  EXPECT_TRUE(daemon.engine().stage_cancel(job, {}).ok());
  ASSERT_TRUE(daemon.commit().ok());
  daemon.pass(Duration::minutes(2));
  EXPECT_THAT(error(job, 0), HasSubstr("does not run"));
  // One study, one set of rungs, also of submits that come at the same time; other clients have their own.
  JobRequest wider = trial();
  wider.rungs.most = 27;
  EXPECT_FALSE(daemon.engine().stage_submit(wider, {}).ok());
  wider.study = "wd";
  EXPECT_TRUE(daemon.engine().stage_submit(wider, {}).ok());
  wider.rungs.most = 81;
  EXPECT_FALSE(daemon.engine().stage_submit(wider, {}).ok());
  wider.queue = "zoo";
  EXPECT_TRUE(daemon.engine().stage_submit(wider, {}).ok());
  EXPECT_TRUE(daemon.commit().ok());
}

TEST(EngineTrials, ARequestSaysItsRungsOrNone) {
  const auto error = [](const std::string& more) {
    const auto request = parse_job_request(R"({"queue":"q","command":["x"])" + more + "}");
    return request.ok() ? to_json(*request) : request.error().message;
  };
  EXPECT_THAT(error(R"(,"study":"lr","rung_last":27)"), HasSubstr(R"("study":"lr","rung_last":27)"));
  EXPECT_THAT(error(R"(,"rung_last":27)"), HasSubstr("give 'study'"));
  EXPECT_THAT(error(R"(,"study":"lr","rung_first":0)"), HasSubstr("'rung_first'"));
  EXPECT_THAT(error(R"(,"study":"lr","rung_first":9,"rung_last":3)"), HasSubstr("'rung_last'"));
  EXPECT_THAT(error(R"(,"study":"lr","rung_reduction":1)"), HasSubstr("'rung_reduction'"));
}

}  // namespace
}  // namespace stint
