// Two daemons and one database: what the active one has written is what the standby goes on from.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>

#include "daemon/testing_daemon.h"
#include "store/testing_postgres.h"

namespace stint {
namespace {

class Standby : public testing::Test {
 protected:
  void SetUp() override {
    if (TestingPostgres::programs().empty()) GTEST_SKIP() << "PostgreSQL is not installed (Debian: postgresql)";
    server_.emplace();
  }
  std::optional<TestingPostgres> server_;
};

TEST_F(Standby, TakesOverWhereTheOtherStopped) {
  std::optional<TestingDaemon> active(std::in_place, server_->url());
  auto log = EventLog::open(server_->url(), {.follow = true});
  ASSERT_TRUE(log.ok());
  SimulatedBackend backend;
  auto standby = Engine::follow(*log, {});
  ASSERT_TRUE(standby.ok());
  const int64_t first = active->submit(testing_job(8, kHour), "key");
  active->pass(Duration::minutes(10));
  ASSERT_TRUE(log->refresh().ok());
  ASSERT_TRUE(standby->read_on().ok());
  EXPECT_EQ(standby->fingerprint(), active->engine().fingerprint());
  EXPECT_FALSE(*log->take_over());

  const int64_t second = active->submit(testing_job(4, kHour));  // not yet read when the other goes
  const uint64_t last = active->engine().fingerprint();
  const Instant now = active->now();
  active.reset();
  bool taken = false;
  for (int i = 0; i < 500 && !taken; ++i) {
    taken = *log->take_over();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_TRUE(taken);
  ASSERT_TRUE(standby->read_on().ok());
  EXPECT_EQ(standby->fingerprint(), last);
  ASSERT_TRUE(standby->take_over(testing_fleet(), backend, now).ok());
  EXPECT_EQ(standby->job(first)->state, JobState::kRunning);
  EXPECT_EQ(standby->job(second)->state, JobState::kRunning);
  // What was asked of the other is not done again.
  EXPECT_EQ(*standby->stage_submit(testing_job(8, kHour), {.actor = "ada", .idempotency_key = "key"}), first);
}

TEST_F(Standby, WithoutItsDatabaseADaemonReadsOnlyAndThenGoesOn) {
  TestingDaemon daemon(server_->url());
  const int64_t first = daemon.submit(testing_job(1, kHour));
  server_->stop();
  ASSERT_TRUE(daemon.engine().stage_submit(testing_job(1, kHour), {}).ok());
  EXPECT_FALSE(daemon.commit().ok());
  EXPECT_TRUE(daemon.engine().read_only());
  EXPECT_EQ(daemon.engine().stage_submit(testing_job(1, kHour), {}).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(daemon.job(first).state, JobState::kRunning);
  EXPECT_FALSE(daemon.engine().try_to_write().ok());
  server_->start();
  ASSERT_TRUE(daemon.engine().try_to_write().ok());
  EXPECT_FALSE(daemon.engine().read_only());
  EXPECT_EQ(daemon.submit(testing_job(1, kHour)), first + 1);
}

/// The database took it for dead and another wrote meanwhile: it decides nothing before it has read that.
TEST_F(Standby, OneThatWasCutOffDecidesNothingAndReadsWhatTheOtherWrote) {
  TestingDaemon old(server_->url());
  const int64_t first = old.submit(testing_job(1, kHour));
  server_->execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'stint'");
  uint64_t after = 0;
  {
    TestingDaemon other(server_->url());
    EXPECT_EQ(other.submit(testing_job(1, kHour)), first + 1);
    after = other.engine().fingerprint();
    ASSERT_TRUE(old.engine().stage_submit(testing_job(1, kHour), {}).ok());
    EXPECT_FALSE(old.commit().ok());
    EXPECT_FALSE(old.engine().try_to_write().ok()) << "while the other is active";
  }
  bool writes = false;
  for (int i = 0; i < 500 && !writes; ++i) {
    writes = old.engine().try_to_write().ok();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_TRUE(writes);
  EXPECT_EQ(old.engine().overview().jobs, first + 1);
  EXPECT_EQ(old.engine().fingerprint(), after);
  EXPECT_EQ(old.submit(testing_job(1, kHour)), first + 2);
}

}  // namespace
}  // namespace stint
