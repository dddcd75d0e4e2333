// Snapshots, and jobs that leave memory: what is seen of the daemon is the same with them and without, after every kind of start.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/prng.h"
#include "daemon/api/view_json.h"
#include "daemon/testing_daemon.h"
#include "store/sqlite.h"

namespace stint {
namespace {

EngineOptions small() {
  EngineOptions options;
  options.records_between_snapshots = 60;
  options.ended_kept = 10;
  return options;
}

EngineOptions remembering() {
  EngineOptions options;
  options.records_between_snapshots = INT64_MAX;
  options.ended_kept = INT64_MAX / 4;
  return options;
}

/// Jobs of more than 200 (of those without a limit: 5 GPUs and more, and all arrays) need approval.
FleetConfig ruled_fleet() {
  return governed(R"({"approval_above":"200","budgets":[{"name":"b","queue":"acme","per_month":"4000","thresholds":[1,2,5,10],)"
                  R"("at_limit":"approve"},{"name":"w","queue":"","per_month":"1000","at_limit":"warn"}],)"
                  R"("clients":[{"name":"zoo","max_gpus":60,"user_gpu_hours_per_month":100000}]})");
}

/// Everything a client can see of jobs, machines, queues, budgets and events.
std::vector<std::string> seen(const Engine& engine, int64_t page = 7) {
  std::vector<std::string> all;
  for (const EventView& event : engine.events_since(0, 100'000))
    all.push_back(to_json(event).dump());
  std::optional<int64_t> before;
  do {
    const JobPage jobs = engine.jobs({}, before, static_cast<size_t>(page));
    for (const JobView& job : jobs.jobs)
      all.push_back(to_json(job).dump());
    before = jobs.next;
  } while (before);
  for (const NodeView& node : engine.nodes())
    all.push_back(to_json(node).dump());
  for (const QueueView& queue : engine.queues())
    all.push_back(to_json(queue).dump());
  for (const BudgetView& budget : engine.budgets())
    all.push_back(to_json(budget).dump());
  for (const JobView& job : engine.approvals())
    all.push_back(fmt::format("waits for approval: {}", job.id));
  return all;
}

std::string first_difference(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const auto [left, right] = std::ranges::mismatch(a, b);
  if (left == a.end() && right == b.end()) return "";
  return fmt::format("{}\n{}", left == a.end() ? "nothing" : *left, right == b.end() ? "nothing" : *right);
}

/// The same orders to every daemon it is given, drawn from a seed.
class RandomOrders {
 public:
  explicit RandomOrders(uint64_t seed) : random_(seed) {}

  void next(std::initializer_list<TestingDaemon*> daemons) {
    const uint64_t what = random_.below(26);
    JobRequest job = testing_job(1 << random_.below(4), Duration::minutes(static_cast<int64_t>(5 + random_.below(90))),
                                 random_.below(2) == 0 ? "zoo" : "acme/vision");
    job.name = fmt::format("j{}", count_);
    job.tags = {{"team", "a"}};
    if (what == 0) job.tasks = 2;
    if (what == 1) job.array = 6, job.at_once = 2;
    if (what == 2 && jobs_ > 0)
      job.after = {jobs_ - static_cast<int64_t>(random_.below(std::min<uint64_t>(3, static_cast<uint64_t>(jobs_))))};
    if (what == 3) job.time_limit = Duration::minutes(20);
    if (what == 4) job.priority = 90;
    if (what == 5) job.on_hold = true;
    if (what == 6) job.tags = {{"project", fmt::format("p{}", random_.below(3))}};
    const int64_t chosen = 1 + static_cast<int64_t>(random_.below(static_cast<uint64_t>(jobs_ + 1)));
    const std::string node = fmt::format("n{}", random_.below(2));
    const BudgetRule budget = {.name = fmt::format("c{}", random_.below(3)),
                               .queue = "acme",
                               .project = fmt::format("p{}", random_.below(3)),
                               .per_month = Money::units(static_cast<int64_t>(10 + random_.below(100)))};
    const Duration pass = Duration::seconds(static_cast<int64_t>(random_.below(900)));
    for (TestingDaemon* daemon : daemons) {
      Engine& engine = daemon->engine();
      if (what < 14) (void)engine.stage_submit(job, {.actor = "ada", .idempotency_key = ""});
      if (what == 14 || what == 15) (void)engine.stage_cancel(chosen, {});
      if (what == 16) (void)engine.stage_release(chosen, {});
      if (what == 17) (void)engine.stage_down(node, {});
      if (what == 18 || what == 19) (void)engine.stage_up(node, {});
      const std::vector<JobView> unapproved = engine.approvals();
      if (what >= 20 && what < 23 && !unapproved.empty())
        (void)engine.stage_approve(unapproved[static_cast<size_t>(chosen) % unapproved.size()].id, {.actor = "bob"});
      if (what == 23 && !unapproved.empty()) (void)engine.stage_refuse(unapproved.back().id, "too dear", {.actor = "bob"});
      if (what == 24) (void)engine.stage_budget(budget, {.actor = "op"});
      if (what == 25) (void)engine.stage_remove_budget(budget.name, {.actor = "op"});
      ASSERT_TRUE(daemon->commit().ok());
      daemon->pass(pass);
    }
    if (daemons.size() > 0) jobs_ = (*daemons.begin())->engine().overview().jobs;
    ++count_;
  }

 private:
  Prng random_;
  int64_t jobs_ = 0;
  int64_t count_ = 0;
};

void execute(const std::string& path, const std::string& sql) {
  auto db = Database::open(path, DatabaseAccess::kReadWrite);
  ASSERT_TRUE(db.ok());
  const Status done = db->execute(sql);
  ASSERT_TRUE(done.ok()) << done.error().message;
}

/// What a daemon sees that reads this log, and changes nothing.
struct Reading {
  Recovery recovery;
  uint64_t fingerprint = 0;
  std::vector<std::string> seen;
  Instant next_wakeup;
};
Reading read(const std::string& path, const EngineOptions& options = small()) {
  auto log = EventLog::open(path);
  CHECK(log.ok(), "{}", log.error().message);
  SimulatedBackend backend;
  EngineOptions looking = options;
  looking.carry_out = false;
  auto engine = Engine::open(*log, backend, ruled_fleet(), looking, Instant());
  CHECK(engine.ok(), "{}", engine.error().message);
  return {engine->recovery(), engine->fingerprint(), seen(*engine), engine->next_wakeup()};
}

std::string copy_of(const std::string& path, const ScratchDir& dir, const std::string& name) {
  std::string copy = dir / name;
  for (const char* ending : {"", "-wal"})
    if (std::filesystem::exists(path + ending))
      std::filesystem::copy_file(path + ending, copy + ending, std::filesystem::copy_options::overwrite_existing);
  return copy;
}

TEST(EngineSnapshot, WhatIsForgottenIsSeenAsBefore) {
  const ScratchDir dir;
  for (const uint64_t seed : {1U, 2U, 21U, 39U}) {
    SCOPED_TRACE(seed);
    TestingDaemon forgets(dir / fmt::format("a{}", seed), ruled_fleet(), small(), {.sync = false});
    TestingDaemon remembers(dir / fmt::format("b{}", seed), ruled_fleet(), remembering(), {.sync = false});
    RandomOrders orders(seed);
    for (int i = 0; i < 150; ++i) {
      orders.next({&remembers, &forgets});
      if (testing::Test::HasFatalFailure()) return;
    }
    // Views are as of the last step, and one that remembers wakes up for those who have ended.
    for (TestingDaemon* daemon : {&forgets, &remembers})
      ASSERT_TRUE(daemon->commit().ok());
    EXPECT_EQ(first_difference(seen(forgets.engine()), seen(remembers.engine())), "");
    const auto jobs = static_cast<size_t>(remembers.engine().overview().jobs);
    EXPECT_EQ(remembers.engine().jobs_in_memory(), jobs);
    // All that go on, and of those that have ended the last ten, up to a fifth more, and some of arrays to be decided on.
    const size_t go_on = remembers.engine().jobs({.ended = false}, std::nullopt, 10'000).jobs.size();
    EXPECT_LE(forgets.engine().jobs_in_memory(), go_on + 20);
    EXPECT_LT(forgets.engine().jobs_in_memory(), jobs);
    EXPECT_EQ(*forgets.engine().why(1), *remembers.engine().why(1));
    EXPECT_EQ(*forgets.engine().request_of(1), *remembers.engine().request_of(1));
    for (const JobFilter& filter : {JobFilter{.state = JobState::kSucceeded, .queue = "acme"}, JobFilter{.ended = false},
                                    JobFilter{.ended = true, .user = "ada", .name = "j3"}, JobFilter{.user = "eve"}}) {
      const auto ids = [&](const Engine& engine) {
        std::vector<int64_t> all;
        for (const JobView& job : engine.jobs(filter, std::nullopt, 1'000).jobs)
          all.push_back(job.id);
        return all;
      };
      EXPECT_EQ(ids(forgets.engine()), ids(remembers.engine()));
    }
  }
}

TEST(EngineSnapshot, RecoveryFromItIsRecoveryFromTheWholeLog) {
  const ScratchDir dir;
  const std::string path = dir / "log.db";
  TestingDaemon daemon(path, ruled_fleet(), small(), {.sync = false});
  RandomOrders orders(5);
  for (int i = 0; i < 150; ++i) {
    orders.next({&daemon});
    if (i % 29 != 28) continue;
    if (i > 80 && daemon.now() < month_of(kDaemonStart).end) {
      daemon.pass(month_of(kDaemonStart).end - daemon.now() + Duration::hours(1));  // budgets begin anew
      orders.next({&daemon});
    }
    const uint64_t fingerprint = daemon.engine().fingerprint();
    const auto before = seen(daemon.engine());
    const std::string whole = copy_of(path, dir, "whole.db");
    execute(whole, "DELETE FROM snapshot");
    daemon.restart();
    EXPECT_EQ(daemon.engine().fingerprint(), fingerprint);
    EXPECT_EQ(seen(daemon.engine()), before);
    EXPECT_GT(daemon.engine().recovery().snapshot_step, 0);
    const Instant next_wakeup = daemon.engine().next_wakeup();
    EXPECT_LT(daemon.engine().recovery().records, 100);
    const Reading read_whole = read(whole);
    EXPECT_EQ(read_whole.recovery.snapshot_step, 0);
    EXPECT_GT(read_whole.recovery.marks_checked, 0);
    EXPECT_EQ(read_whole.fingerprint, fingerprint);
    EXPECT_EQ(read_whole.seen, before);
    EXPECT_EQ(read_whole.next_wakeup, next_wakeup);
  }
}

TEST(EngineSnapshot, ALogThatWasCutIsReadAsFarAsItGoes) {
  const ScratchDir dir;
  const std::string path = dir / "log.db";
  TestingDaemon daemon(path, ruled_fleet(), small(), {.sync = false});
  RandomOrders orders(6);
  for (int i = 0; i < 120; ++i)
    orders.next({&daemon});
  Prng random(6);
  for (int i = 0; i < 12; ++i) {
    const auto last = static_cast<int64_t>(1 + random.below(static_cast<uint64_t>(daemon.log().last_step())));
    SCOPED_TRACE(last);
    const std::string cut = copy_of(path, dir, "cut.db");
    execute(cut, fmt::format("DELETE FROM record WHERE step > {0}; DELETE FROM mark WHERE step > {0}", last));
    const std::string bare = copy_of(cut, dir, "bare.db");
    execute(bare, "DELETE FROM snapshot");
    const Reading from_snapshot = read(cut);
    const Reading from_all = read(bare);
    EXPECT_EQ(from_snapshot.fingerprint, from_all.fingerprint);
    EXPECT_EQ(from_snapshot.next_wakeup, from_all.next_wakeup);
    EXPECT_EQ(from_snapshot.seen, from_all.seen);
  }
}

TEST(EngineSnapshot, ABadOneIsPassedOverForAnOlderOneOrTheWholeLog) {
  const ScratchDir dir;
  const std::string path = dir / "log.db";
  TestingDaemon daemon(path, ruled_fleet(), small(), {.sync = false});
  RandomOrders orders(7);
  for (int i = 0; i < 120; ++i)
    orders.next({&daemon});
  const Reading good = read(copy_of(path, dir, "good.db"));
  ASSERT_GT(good.recovery.snapshot_step, 0);

  const std::string one = copy_of(path, dir, "one.db");
  execute(one, "UPDATE snapshot SET payload = zeroblob(length(payload)) WHERE step = (SELECT max(step) FROM snapshot)");
  const Reading older = read(one);
  EXPECT_GT(older.recovery.snapshot_step, 0);
  EXPECT_LT(older.recovery.snapshot_step, good.recovery.snapshot_step);
  EXPECT_EQ(older.fingerprint, good.fingerprint);

  // Bytes that are what was written, and are not what was noted beside them.
  const std::string both = copy_of(path, dir, "both.db");
  execute(both, "UPDATE snapshot SET fingerprint = fingerprint + 1");
  const Reading whole = read(both);
  EXPECT_EQ(whole.recovery.snapshot_step, 0);
  EXPECT_EQ(whole.recovery.bad_snapshots, 2);
  EXPECT_EQ(whole.fingerprint, good.fingerprint);
  EXPECT_EQ(whole.seen, good.seen);

  const std::string newer = copy_of(path, dir, "newer.db");
  execute(newer, "UPDATE snapshot SET version = 1000");
  EXPECT_EQ(read(newer).recovery.snapshot_step, 0);
}

TEST(EngineSnapshot, AJobMayWaitForOneThatHasLeftMemory) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", testing_fleet(), small(), {.sync = false});
  const int64_t good = daemon.submit(testing_job(1, Duration::minutes(1)));
  const int64_t bad = daemon.submit(testing_job(1, Duration::minutes(1)));
  ASSERT_TRUE(daemon.engine().stage_cancel(bad, {}).ok());
  ASSERT_TRUE(daemon.commit().ok());
  for (int i = 0; i < 20; ++i) {
    daemon.submit(testing_job(1, Duration::minutes(1)));
    daemon.pass(Duration::minutes(5));
  }
  ASSERT_LT(daemon.engine().jobs_in_memory(), 20U);
  EXPECT_EQ(daemon.job(good).state, JobState::kSucceeded);
  EXPECT_EQ(daemon.job(bad).state, JobState::kCancelled);
  JobRequest next = testing_job(1, Duration::minutes(1));
  next.after = {good};
  const int64_t id = daemon.submit(next);
  EXPECT_EQ(daemon.job(id).state, JobState::kRunning);
  next.after = {bad};
  EXPECT_EQ(daemon.engine().stage_submit(next, {}).error().code, ErrorCode::kConflict);
  EXPECT_EQ(daemon.engine().stage_cancel(good, {}).error().code, ErrorCode::kConflict);
  EXPECT_EQ(daemon.engine().stage_cancel(1'000, {}).error().code, ErrorCode::kNotFound);
}

TEST(EngineSnapshot, WhatSomebodyDecidedIsKnownOfThoseThatHaveLeftMemory) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", ruled_fleet(), small(), {.sync = false});
  const auto done = [&](const Status& staged) {
    ASSERT_TRUE(staged.ok()) << staged.error().message;
    ASSERT_TRUE(daemon.commit().ok());
  };
  const int64_t dear = daemon.submit(testing_job(8, Duration::minutes(1)));  // 384
  JobRequest three = testing_job(2, Duration::minutes(1));                   // 96 each
  three.array = 3;
  const int64_t array = daemon.submit(three);
  const int64_t refused = daemon.submit(three);
  done(daemon.engine().stage_approve(dear, {.actor = "bob"}));
  done(daemon.engine().stage_refuse(refused, "too dear", {.actor = "bob"}));
  done(daemon.engine().stage_cancel(array, {}));
  for (int i = 0; i < 30; ++i) {
    daemon.submit(testing_job(1, Duration::minutes(1)));
    daemon.pass(Duration::minutes(5));
  }
  // The first job of the array has ended long ago, and is decided on with the others.
  const size_t before = daemon.engine().jobs_in_memory();
  ASSERT_LT(before, 20U);
  EXPECT_FALSE(daemon.job(array).approval->decided);
  ASSERT_EQ(daemon.engine().approvals().size(), 1U);
  EXPECT_EQ(daemon.engine().approvals()[0].id, array + 1);
  done(daemon.engine().stage_approve(array + 2, {.actor = "eve"}));
  const auto seen_of = [&](int64_t id) { return to_json(daemon.job(id)).dump(); };
  std::vector<std::string> seen_before;
  for (const int64_t id : {dear, array, array + 2, refused})
    seen_before.push_back(seen_of(id));
  for (int i = 0; i < 30; ++i) {
    daemon.submit(testing_job(1, Duration::minutes(1)));
    daemon.pass(Duration::minutes(5));
  }
  EXPECT_EQ(daemon.job(array + 2).state, JobState::kSucceeded);
  EXPECT_EQ(daemon.job(array + 2).approval->by, "eve");
  for (const int64_t id : {dear, array, array + 1, array + 2})
    EXPECT_TRUE(daemon.job(id).approval->approved);
  EXPECT_EQ(daemon.job(refused + 2).approval->reason, "too dear");
  EXPECT_EQ(seen_of(dear), seen_before[0]);
  EXPECT_EQ(seen_of(array), seen_before[1]);
  EXPECT_EQ(seen_of(refused), seen_before[3]);
  EXPECT_EQ(daemon.engine().stage_approve(array, {}).error().code, ErrorCode::kConflict);
  EXPECT_THAT(*daemon.engine().why(refused), testing::Not(testing::HasSubstr("needs approval")));
  EXPECT_TRUE(daemon.engine().approvals().empty());
  EXPECT_TRUE(daemon.engine().runs_complete_from([](std::string_view) { return true; }).has_value());
}

/// As a daemon made it before there were snapshots: version 1 of the tables.
TEST(EngineSnapshot, ALogOfTheFirstVersionIsTakenOver) {
  const ScratchDir dir;
  const std::string path = dir / "log.db";
  std::vector<std::string> before;
  {
    TestingDaemon daemon(path, ruled_fleet(), remembering(), {.sync = false});
    RandomOrders orders(8);
    for (int i = 0; i < 40; ++i)
      orders.next({&daemon});
    before = seen(daemon.engine());
  }
  execute(path, "DROP TABLE snapshot; DROP TABLE ended_job; DROP TABLE ended_job_text; PRAGMA user_version = 1");
  const Reading first = read(path);
  EXPECT_EQ(first.recovery.snapshot_step, 0);
  EXPECT_EQ(first.seen, before);
  auto db = Database::open(path, DatabaseAccess::kReadOnly);
  EXPECT_EQ(*db->integer("PRAGMA user_version"), 2);
  EXPECT_EQ(*db->integer("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'ended_job%' OR name = 'snapshot'"), 3);
}

}  // namespace
}  // namespace stint
