// What jobs and events are called outside: counts of each client's own, which stay over restarts, oblivion and older logs.
#include <gmock/gmock.h>

#include "daemon/engine/record.h"
#include "daemon/testing_daemon.h"
#include "host/testing_files.h"

namespace stint {
namespace {

using ::testing::ElementsAre;

std::string id_of(TestingDaemon& daemon, int64_t job) { return public_id(daemon.job(job)); }
std::optional<int64_t> find(TestingDaemon& daemon, const std::string& id) {
  return daemon.engine().find_job(*parse_public_id(id));
}

TEST(JobNumbers, AreCountedWithinEachClient) {
  ScratchDir dir;
  TestingDaemon daemon(dir / "events.db");
  const int64_t first = daemon.submit(testing_job(1, Duration::hours(1)));
  const int64_t other = daemon.submit(testing_job(1, Duration::hours(1), "zoo"));
  JobRequest array = testing_job(1, Duration::hours(1), "acme");
  array.array = 3;
  const int64_t many = daemon.submit(array);
  JobRequest waits = testing_job(1, Duration::hours(1), "zoo");
  waits.after = {many + 1, other};
  const int64_t last = daemon.submit(waits);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(id_of(daemon, first), "acme-1");
    EXPECT_EQ(id_of(daemon, other), "zoo-1");
    EXPECT_EQ(id_of(daemon, many), "acme-2_0");
    EXPECT_EQ(id_of(daemon, many + 2), "acme-2_2");
    EXPECT_EQ(id_of(daemon, last), "zoo-2");
    EXPECT_THAT(daemon.job(last).after, ElementsAre("acme-2_1", "zoo-1"));
    EXPECT_EQ(find(daemon, "acme-4"), many + 2);
    EXPECT_EQ(find(daemon, "acme-2_2"), many + 2);
    EXPECT_EQ(find(daemon, "acme-2_3"), std::nullopt);
    EXPECT_EQ(find(daemon, "acme-3_0"), std::nullopt);
    EXPECT_EQ(find(daemon, "zoo-2"), last);
    EXPECT_EQ(find(daemon, "zoo-3"), std::nullopt);
    EXPECT_EQ(find(daemon, "none-1"), std::nullopt);
    daemon.restart();
  }
}

TEST(JobNumbers, ThatWereNotGivenLeaveNoGap) {
  ScratchDir dir;
  TestingDaemon daemon(dir / "events.db");
  const PipelineStage good{.request = testing_job(1, Duration::hours(1)), .after = {}};
  PipelineStage bad = good;
  bad.request.queue = "nobody";
  EXPECT_FALSE(daemon.engine().stage_pipeline({good, bad}, {.actor = "ada", .idempotency_key = ""}).ok());
  EXPECT_EQ(id_of(daemon, daemon.submit(good.request)), "acme-1");
  EXPECT_EQ(find(daemon, "acme-1"), 1);
}

TEST(JobNumbers, AnArrayIsCountedInFullWhenSomeOfItHaveLeftMemory) {
  ScratchDir dir;
  TestingDaemon daemon(dir / "events.db", testing_fleet(), {.ended_kept = 2});
  JobRequest array = testing_job(1, Duration::hours(1));
  array.array = 10;
  array.at_once = 2;
  const int64_t first = daemon.submit(array);
  daemon.pass(Duration::minutes(210));  // three turns of two have ended, the fourth pair has half an hour behind it
  for (int i = 0; i < 2; ++i) {
    daemon.engine().look(daemon.now());
    EXPECT_LT(daemon.engine().jobs_in_memory(), 10U);
    const JobView all = *daemon.engine().array(first);
    EXPECT_EQ(public_id(all), "acme-1");
    EXPECT_EQ(text_of(all.array_jobs), "2 running, 2 waiting, 6 succeeded");
    EXPECT_EQ(all.state, JobState::kRunning);
    EXPECT_EQ(all.cost, Money::units(14));  // 7 GPU-hours at 2
    EXPECT_EQ(all.micro_gpu_hours, 7'000'000);
    EXPECT_EQ(all.first_started, kDaemonStart);
    EXPECT_EQ(all.gpu_milli, 4'000);
    EXPECT_EQ(find(daemon, "acme-1_9"), first + 9);
    // A list that begins within it, in memory or in the log, has it once.
    const JobPage one = daemon.engine().jobs({.arrays_as_one = true}, std::nullopt, 10);
    ASSERT_EQ(one.jobs.size(), 1U);
    EXPECT_EQ(one.jobs[0].array_jobs, all.array_jobs);
    EXPECT_EQ(daemon.engine().jobs({.array = first}, std::nullopt, 20).jobs.size(), 10U);
    daemon.restart();
  }
  daemon.pass(Duration::hours(2));
  const JobView all = *daemon.engine().array(first);
  EXPECT_EQ(text_of(all.array_jobs), "10 succeeded");
  EXPECT_EQ(all.state, JobState::kSucceeded);
  EXPECT_EQ(all.cost, Money::units(20));
  EXPECT_EQ(all.gpu_milli, 10'000) << "what it asked for";
  EXPECT_EQ(all.ended, kDaemonStart + Duration::hours(5));
  EXPECT_EQ(daemon.engine().stage_array(JobControl::kHold, first, {}).error().code, ErrorCode::kConflict);
  EXPECT_FALSE(daemon.engine().array(first + 1).has_value()) << "it is of one, and begins none";
}

TEST(JobNumbers, StayWhenTheJobHasLeftMemory) {
  ScratchDir dir;
  TestingDaemon daemon(dir / "events.db", testing_fleet(), {.ended_kept = 2});
  for (int i = 0; i < 10; ++i) {
    daemon.submit(testing_job(1, Duration::minutes(1), i % 2 == 0 ? "acme" : "zoo"));
    daemon.pass(Duration::minutes(2));
  }
  daemon.restart();
  EXPECT_LT(daemon.engine().jobs_in_memory(), 6U);
  EXPECT_EQ(find(daemon, "acme-2"), 3);
  EXPECT_EQ(id_of(daemon, 3), "acme-2");
  JobRequest waits = testing_job(1, Duration::minutes(1), "zoo");
  waits.after = {3};
  EXPECT_THAT(daemon.job(daemon.submit(waits)).after, ElementsAre("acme-2"));
}

/// A log as it was written before clients had their own counts: its jobs keep the ids they were called by.
TEST(JobNumbers, OfAnOlderLogAreItsIds) {
  ScratchDir dir;
  {
    auto log = EventLog::open(dir / "events.db");
    ASSERT_TRUE(log.ok());
    Record fleet;
    fleet.kind = RecordKind::kFleet;
    fleet.fleet = to_json(testing_fleet());
    ASSERT_TRUE(log->append({.at = kDaemonStart, .records = {encode(fleet)}}).ok());
    for (int64_t id = 1; id <= 3; ++id) {
      Record submit;
      submit.kind = RecordKind::kSubmit;
      submit.job = id;
      submit.request = testing_job(1, Duration::hours(1), id == 2 ? "zoo" : "acme");
      ASSERT_TRUE(log->append({.at = kDaemonStart, .records = {encode(submit)}}).ok());
    }
  }
  TestingDaemon daemon(dir / "events.db");
  EXPECT_EQ(id_of(daemon, 2), "zoo-2");
  EXPECT_EQ(id_of(daemon, 3), "acme-3");
  EXPECT_EQ(find(daemon, "zoo-2"), 2);
  EXPECT_EQ(id_of(daemon, daemon.submit(testing_job(1, Duration::hours(1), "zoo"))), "zoo-4");
  EXPECT_EQ(id_of(daemon, daemon.submit(testing_job(1, Duration::hours(1), "acme"))), "acme-4");
  EXPECT_EQ(id_of(daemon, daemon.submit(testing_job(1, Duration::hours(1), "acme"))), "acme-5");
  EXPECT_TRUE(daemon.engine().mark().ok());
  daemon.restart();
  EXPECT_EQ(find(daemon, "acme-5"), 6);
  EXPECT_EQ(find(daemon, "zoo-4"), 4);
  EXPECT_EQ(find(daemon, "zoo-5"), std::nullopt);
}

TEST(EventIds, AreCountedWithinEachAudience) {
  ScratchDir dir;
  TestingDaemon daemon(dir / "events.db");
  JobRequest held = testing_job(1, Duration::hours(1), "zoo");
  held.on_hold = true;
  daemon.submit(held);
  held.queue = "acme";
  daemon.submit(held);
  ASSERT_TRUE(daemon.engine().stage_drain("n1", {.actor = "ada", .idempotency_key = ""}).ok());
  ASSERT_TRUE(daemon.commit().ok());
  daemon.submit(held);
  ASSERT_TRUE(daemon.engine().mark().ok());
  for (int i = 0; i < 2; ++i) {
    std::vector<std::string> ids;
    for (const EventView& event : daemon.engine().events_since(0, 100))
      if (event.kind == "job.submitted" || event.kind == "node.draining") ids.push_back(public_id(event));
    EXPECT_THAT(ids, ElementsAre("zoo-1", "acme-1", "machines~1", "acme-2"));
    EXPECT_EQ(daemon.engine().find_event("acme-9"), std::nullopt);
    EXPECT_EQ(daemon.engine().find_event("nonsense"), std::nullopt);
    const auto drained = daemon.engine().find_event("machines~1");
    ASSERT_TRUE(drained);
    EXPECT_EQ(public_id(daemon.engine().events_since(*drained, 1).at(0)), "acme-2");
    daemon.restart();
  }
}

TEST(EventIds, OfEventsTooOldToBeKeptLeadToTheOldestKept) {
  ScratchDir dir;
  TestingDaemon daemon(dir / "events.db", testing_fleet(), {.events_kept = 2});
  JobRequest held = testing_job(1, Duration::hours(1));
  held.on_hold = true;
  for (int i = 0; i < 5; ++i)
    daemon.submit(held);
  EXPECT_EQ(daemon.engine().find_event("acme-1"), daemon.engine().events_since(0, 1).at(0).number - 1);
}

TEST(PublicId, IsTheClientAndANumber) {
  EXPECT_EQ(parse_public_id("a-b-17")->client, "a-b");
  EXPECT_EQ(parse_public_id("a-b-17")->number, 17);
  EXPECT_EQ(parse_public_id("17")->client, "");
  for (const char* none : {"", "-", "a", "a-", "-17", "a-0", "a-x", "0", "a-99999999999999999999", "a--"})
    EXPECT_FALSE(parse_public_id(none)) << none;
}

}  // namespace
}  // namespace stint
