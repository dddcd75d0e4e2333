// Ends of tasks that were told to leave: work that was done before they heard of it is not run again, what stopped for it is.
#include <gmock/gmock.h>

#include "daemon/testing_daemon.h"

namespace stint {
namespace {

class EngineLeaving : public ::testing::Test {
 protected:
  /// A job that runs and is told to leave for `urgent`.
  int64_t start(int tasks) {
    JobRequest job = testing_job(8 / tasks, kHour);
    job.tasks = tasks;
    job.preemptible = true;
    job.priority = 10;
    job.grace = Duration::minutes(5);
    const int64_t id = daemon_.submit(job);
    daemon_.pass(Duration::minutes(10));
    JobRequest urgent = testing_job(8, kHour);
    urgent.priority = 90;
    urgent_ = daemon_.submit(urgent);
    CHECK(daemon_.job(id).state == JobState::kLeaving, "it is {}", name_of(daemon_.job(id).state));
    return id;
  }
  /// With exit code 0.
  void end(int64_t job, int32_t task, EndCause cause) {
    daemon_.engine().stage_report({.kind = ReportKind::kEnded,
                                   .key = {.job = job, .attempt = 0, .task = task},
                                   .at = daemon_.now(),
                                   .status = {},
                                   .cause = cause});
    ASSERT_TRUE(daemon_.commit().ok());
  }

  ScratchDir dir_;
  TestingDaemon daemon_{dir_ / "log.db", testing_fleet(1)};
  int64_t urgent_ = 0;
};

TEST_F(EngineLeaving, WorkThatWasDoneBeforeItHeardIsDone) {
  const int64_t job = start(1);
  end(job, 0, EndCause::kItself);
  EXPECT_EQ(daemon_.job(job).state, JobState::kSucceeded);
  EXPECT_EQ(daemon_.job(urgent_).state, JobState::kRunning);
  const uint64_t fingerprint = daemon_.engine().fingerprint();
  daemon_.restart();
  EXPECT_EQ(daemon_.engine().fingerprint(), fingerprint);
  EXPECT_EQ(daemon_.job(job).state, JobState::kSucceeded);
  daemon_.pass(kHour * 3);
  EXPECT_EQ(daemon_.job(job).starts, 1);
}

TEST_F(EngineLeaving, WorkThatStoppedBecauseItWasAskedRunsAgain) {
  const int64_t job = start(1);
  end(job, 0, EndCause::kStopped);
  EXPECT_EQ(daemon_.job(job).state, JobState::kWaiting);
  daemon_.pass(kHour * 3);
  EXPECT_EQ(daemon_.job(job).state, JobState::kSucceeded);
  EXPECT_EQ(daemon_.job(job).starts, 2);
}

TEST_F(EngineLeaving, AGangIsDoneWhenAllItsTasksAre) {
  const int64_t job = start(2);
  end(job, 1, EndCause::kItself);
  EXPECT_EQ(daemon_.job(job).state, JobState::kLeaving);
  end(job, 0, EndCause::kItself);
  EXPECT_EQ(daemon_.job(job).state, JobState::kSucceeded);
  EXPECT_EQ(daemon_.job(urgent_).state, JobState::kRunning);
}

TEST_F(EngineLeaving, AGangWithATaskThatStoppedRunsAgainWithAllOfThem) {
  for (const auto& [first, second] :
       {std::pair(EndCause::kItself, EndCause::kStopped), {EndCause::kStopped, EndCause::kItself}}) {
    const int64_t job = start(2);
    end(job, 0, first);
    end(job, 1, second);
    EXPECT_EQ(daemon_.job(job).state, JobState::kWaiting);
    EXPECT_EQ(daemon_.job(urgent_).state, JobState::kRunning);
    daemon_.pass(kHour * 3);
    EXPECT_EQ(daemon_.job(job).state, JobState::kSucceeded);
    EXPECT_EQ(daemon_.job(job).starts, 2);
  }
}

TEST_F(EngineLeaving, ATaskLostBesideOneThatWasDoneLetsTheJobRunAgain) {
  const int64_t job = start(2);
  end(job, 0, EndCause::kItself);
  ASSERT_TRUE(daemon_.engine().stage_down("n0", {}).ok());
  ASSERT_TRUE(daemon_.commit().ok());
  EXPECT_EQ(daemon_.job(job).state, JobState::kWaiting);
}

TEST_F(EngineLeaving, AJobThatWasCancelledIsCancelledHoweverItEnds) {
  const int64_t job = start(1);
  ASSERT_TRUE(daemon_.engine().stage_cancel(job, {}).ok());
  ASSERT_TRUE(daemon_.commit().ok());
  end(job, 0, EndCause::kItself);
  EXPECT_EQ(daemon_.job(job).state, JobState::kCancelled);
}

}  // namespace
}  // namespace stint
