// A disk that is full or fails: what could not be written has not happened, what happened is written later.
#include <gmock/gmock.h>

#include "daemon/testing_daemon.h"
#include "store/testing_faulty_vfs.h"

namespace stint {
namespace {

using ::testing::HasSubstr;

TEST(EngineFault, WhatCannotBeWrittenIsRefusedAndNothingChanges) {
  for (const Fault fault : {Fault::kDiskFull, Fault::kWriteError, Fault::kShortWrite}) {
    const ScratchDir dir;
    TestingDaemon daemon(dir / "log.db", testing_fleet(), {}, {.vfs = FaultyVfs::name()});
    const int64_t running = daemon.submit(testing_job(8, kHour));
    const uint64_t before = daemon.engine().fingerprint();
    FaultyVfs::fail(fault);
    ASSERT_TRUE(daemon.engine().stage_submit(testing_job(1, kHour), {.actor = "", .idempotency_key = "k"}).ok());
    const Status refused = daemon.commit();
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(*daemon.engine().read_only(), HasSubstr("no command is taken"));
    EXPECT_EQ(daemon.engine().fingerprint(), before);
    EXPECT_EQ(daemon.engine().overview().jobs, 1);
    EXPECT_EQ(daemon.engine().stage_cancel(running, {}).error().code, ErrorCode::kUnavailable);
    EXPECT_FALSE(daemon.engine().try_to_write().ok());
    FaultyVfs::heal();
    ASSERT_TRUE(daemon.engine().try_to_write().ok());
    EXPECT_FALSE(daemon.engine().read_only().has_value());
    EXPECT_EQ(daemon.submit(testing_job(1, kHour), "k"), 2);
    daemon.restart();
    EXPECT_EQ(daemon.engine().overview().jobs, 2);
  }
}

TEST(EngineFault, WhatHappenedMeanwhileIsWrittenWhenThatIsPossibleAgain) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", testing_fleet(), {}, {.vfs = FaultyVfs::name()});
  const int64_t id = daemon.submit(testing_job(8, kHour));
  FaultyVfs::fail(Fault::kDiskFull);
  daemon.engine().stage_report({.kind = ReportKind::kEnded, .key = {.job = id, .attempt = 0, .task = 0}, .at = daemon.now()});
  EXPECT_FALSE(daemon.commit().ok());
  EXPECT_EQ(daemon.job(id).state, JobState::kRunning);
  FaultyVfs::heal();
  ASSERT_TRUE(daemon.engine().try_to_write().ok());
  EXPECT_TRUE(daemon.engine().has_staged());
  ASSERT_TRUE(daemon.commit().ok());
  EXPECT_EQ(daemon.job(id).state, JobState::kSucceeded);
}

TEST(EngineFault, AMachineThatWentMeanwhileIsWrittenDownWhenThatIsPossibleAgain) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", testing_fleet(), {}, {.vfs = FaultyVfs::name()});
  const int64_t id = daemon.submit(testing_job(8, kHour * 2));
  const std::string place = daemon.job(id).placed.front().node;
  MachineReport lost{.news = MachineNews::kLost};
  lost.machine.node.name = place;
  daemon.backend().plan({{daemon.now(), lost}});
  FaultyVfs::fail(Fault::kDiskFull);
  daemon.engine().poll_backend(daemon.now());
  EXPECT_FALSE(daemon.commit().ok());
  EXPECT_EQ(daemon.job(id).placed.front().node, place);
  daemon.engine().poll_backend(daemon.now());
  FaultyVfs::heal();
  ASSERT_TRUE(daemon.engine().try_to_write().ok());
  ASSERT_TRUE(daemon.commit().ok());
  EXPECT_NE(daemon.job(id).placed.front().node, place);
}

TEST(EngineFault, AFailedSyncIsSettledByLookingAgain) {
  for (int after = 0; after < 3; ++after) {
    const ScratchDir dir;
    TestingDaemon daemon(dir / "log.db", testing_fleet(), {}, {.vfs = FaultyVfs::name()});
    daemon.submit(testing_job(1, kHour), "a");
    FaultyVfs::fail(Fault::kSyncError, after);
    ASSERT_TRUE(daemon.engine().stage_submit(testing_job(1, kHour), {.actor = "", .idempotency_key = "b"}).ok());
    (void)daemon.commit();
    FaultyVfs::heal();
    ASSERT_TRUE(daemon.engine().try_to_write().ok());
    // Kept or not: asked again with its key it is there once, now and after a restart.
    EXPECT_EQ(daemon.submit(testing_job(1, kHour), "b"), 2);
    EXPECT_EQ(daemon.engine().overview().jobs, 2);
    const uint64_t fingerprint = daemon.engine().fingerprint();
    daemon.restart();
    EXPECT_EQ(daemon.engine().fingerprint(), fingerprint);
  }
}

}  // namespace
}  // namespace stint
