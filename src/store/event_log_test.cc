#include "store/event_log.h"

#include <gmock/gmock.h>

#include <chrono>
#include <optional>
#include <thread>

#include "host/scratch_dir.h"
#include "host/testing_files.h"
#include "store/sqlite.h"
#include "store/testing_faulty_vfs.h"
#include "store/testing_postgres.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Instant kStart = Instant::from_seconds(1'800'000'000);

EventLog open_log(const std::string& path, const EventLogOptions& options = {}) {
  auto log = EventLog::open(path, options);
  CHECK(log.ok(), "{}", log.error().message);
  return std::move(log).value();
}

LogStep step_of(int64_t n, int records = 1) {
  LogStep step;
  step.at = kStart + Duration::seconds(n);
  for (int i = 0; i < records; ++i)
    step.records.push_back({.kind = 7, .payload = fmt::format("{}.{}", n, i)});
  return step;
}

std::vector<std::string> payloads(EventLog& log) {
  std::vector<std::string> all;
  const Status read = log.read(0, [&](const LoggedRecord& r) -> Status {
    CHECK(r.sequence == static_cast<int64_t>(all.size()) + 1, "a gap before record {}", r.sequence);
    all.push_back(fmt::format("{}:{}", r.step, r.payload));
    return {};
  });
  CHECK(read.ok(), "{}", read.error().message);
  return all;
}

/// The same of every store.
class EveryEventLog : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() != std::string_view("PostgreSQL")) return;
    if (TestingPostgres::programs().empty()) GTEST_SKIP() << "PostgreSQL is not installed (Debian: postgresql)";
    server_.emplace();
  }
  [[nodiscard]] std::string place() const { return server_ ? server_->url() : dir_ / "log.db"; }

  ScratchDir dir_;
  std::optional<TestingPostgres> server_;
};
INSTANTIATE_TEST_SUITE_P(Stores, EveryEventLog, testing::Values("SQLite", "PostgreSQL"),
                         [](const auto& kind) { return std::string(kind.param); });

TEST_P(EveryEventLog, GivesBackWhatWasAppended) {
  {
    EventLog log = open_log(place());
    EXPECT_EQ(*log.append(step_of(1, 2)), 1);
    EXPECT_EQ(*log.append(step_of(2)), 2);
  }
  EventLog log = open_log(place());
  EXPECT_EQ(log.last_step(), 2);
  EXPECT_EQ(log.last_sequence(), 3);
  EXPECT_EQ(log.last_at(), kStart + Duration::seconds(2));
  EXPECT_THAT(payloads(log), ElementsAre("1:1.0", "1:1.1", "2:2.0"));
}

TEST_P(EveryEventLog, AKeyIsThereOnceAndItsStepWithIt) {
  EventLog log = open_log(place());
  LogStep step = step_of(1);
  step.keys = {{.key = "k", .request = "digest", .answer = 17}};
  ASSERT_TRUE(log.append(step).ok());
  EXPECT_EQ((*log.find_key("k"))->answer, 17);
  EXPECT_FALSE(log.find_key("other")->has_value());
  const auto again = log.append(step);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::kConflict);
  EXPECT_THAT(payloads(log), ElementsAre("1:1.0"));
  ASSERT_TRUE(log.append(step_of(2)).ok());
}

TEST_P(EveryEventLog, PostingsAndSideRowsComeWithTheirStep) {
  EventLog log = open_log(place());
  LogStep step = step_of(1);
  step.postings = {{.job = 1, .client = "acme", .when = {kStart, kStart + kHour}, .amount = Money::units(3)},
                   {.job = 2, .client = "zoo", .when = {kStart, kStart + kHour}, .amount = Money::units(5)}};
  step.side_rows = {{"audit", "a"}, {"audit", "b"}, {"other", "c"}};
  ASSERT_TRUE(log.append(step).ok());
  // The same run of the same task cannot be posted twice.
  LogStep twice = step_of(2);
  twice.postings = {step.postings[0]};
  EXPECT_FALSE(log.append(twice).ok());
  const auto sums = log.sum_postings();
  ASSERT_TRUE(sums.ok());
  ASSERT_EQ(sums->size(), 2U);
  EXPECT_EQ((*sums)[0].client, "acme");
  EXPECT_EQ((*sums)[1].amount, Money::units(5));
  std::vector<std::string> rows;
  ASSERT_TRUE(log.read_side_rows("audit", 0, 10,
                                 [&](int64_t number, std::string_view payload) -> Status {
                                   rows.push_back(fmt::format("{}{}", number, payload));
                                   return {};
                                 })
                  .ok());
  EXPECT_THAT(rows, ElementsAre("1a", "2b"));
}

TEST_P(EveryEventLog, ARenewedStreamKeepsTheRowsOfThatStep) {
  EventLog log = open_log(place());
  LogStep step = step_of(1);
  step.side_rows = {{"alerts", "a"}, {"alerts", "b"}, {"other", "c"}};
  ASSERT_TRUE(log.append(step).ok());
  LogStep anew = step_of(2);
  anew.side_rows = {{"alerts", "ab"}};
  anew.renewed = {"alerts"};
  ASSERT_TRUE(log.append(anew).ok());
  LogStep next = step_of(3);
  next.side_rows = {{"alerts", "d"}};
  ASSERT_TRUE(log.append(next).ok());
  std::vector<std::string> rows;
  const auto keep = [&](int64_t number, std::string_view payload) -> Status {
    rows.push_back(fmt::format("{}{}", number, payload));
    return {};
  };
  ASSERT_TRUE(log.read_side_rows("alerts", 0, 10, keep).ok());
  ASSERT_TRUE(log.read_side_rows("other", 0, 10, keep).ok());
  EXPECT_THAT(rows, ElementsAre("3ab", "4d", "1c"));
}

TEST_P(EveryEventLog, KeepsTheLastTwoSnapshots) {
  EventLog log = open_log(place());
  for (int64_t n = 1; n <= 4; ++n) {
    ASSERT_TRUE(log.append(step_of(n)).ok());
    const LogSnapshot snapshot{
        .step = n, .sequence = n, .version = 3, .fingerprint = ~0ULL - 7, .payload = std::string(1, '\0') + "x"};
    ASSERT_TRUE(log.put_snapshot(snapshot).ok());
  }
  const auto newest = log.snapshot_before(INT64_MAX, 3);
  ASSERT_TRUE(newest.ok() && *newest);
  EXPECT_EQ((*newest)->step, 4);
  EXPECT_EQ((*newest)->fingerprint, ~0ULL - 7);
  EXPECT_EQ((*newest)->payload, std::string(1, '\0') + "x");
  EXPECT_EQ((*log.snapshot_before(4, 3))->step, 3);
  EXPECT_FALSE(*log.snapshot_before(3, 3));
  EXPECT_FALSE(*log.snapshot_before(INT64_MAX, 4)) << "of another version";
}

TEST_P(EveryEventLog, MarksAreKeptAndReplaced) {
  EventLog log = open_log(place());
  for (int64_t n = 1; n <= 6; ++n)
    ASSERT_TRUE(log.put_mark({.step = n, .fingerprint = static_cast<uint64_t>(n)}).ok());
  ASSERT_TRUE(log.put_mark({.step = 6, .fingerprint = ~0ULL}).ok());
  const auto marks = log.marks();
  ASSERT_TRUE(marks.ok());
  ASSERT_EQ(marks->size(), 4U);
  EXPECT_EQ(marks->front().step, 3);
  EXPECT_EQ(marks->back().fingerprint, ~0ULL);
}

TEST_P(EveryEventLog, EndedJobsAreFoundByWhatIsAskedOfThem) {
  EventLog log = open_log(place());
  LogStep step = step_of(1);
  for (int64_t id = 1; id <= 250; ++id)
    step.ended_jobs.push_back({.id = id,
                               .queue = id % 2 == 0 ? "acme/vision" : "acme2",
                               .user = id % 3 == 0 ? "ada" : "eve",
                               .name = fmt::format("j{}", id % 5),
                               .state = static_cast<int32_t>(id % 4),
                               .payload = fmt::format("text {}", id)});
  ASSERT_TRUE(log.append(step).ok());
  EXPECT_EQ(**log.ended_job(17), step.ended_jobs[16]);
  EXPECT_FALSE(*log.ended_job(251));
  const auto found = [&](const EndedJobFilter& filter, int64_t before) {
    std::vector<int64_t> ids;
    EXPECT_TRUE(log.read_ended_jobs(filter, before,
                                    [&](const EndedJob& job) {
                                      ids.push_back(job.id);
                                      return true;
                                    })
                    .ok());
    return ids;
  };
  const auto expected = [&](auto&& is) {
    std::vector<int64_t> ids;
    for (int64_t id = 250; id > 0; --id)
      if (is(id)) ids.push_back(id);
    return ids;
  };
  EXPECT_EQ(found({}, INT64_MAX), expected([](int64_t) { return true; }));
  EXPECT_EQ(found({}, 5), expected([](int64_t id) { return id < 5; }));
  EXPECT_EQ(found({.queue = "acme"}, INT64_MAX), expected([](int64_t id) { return id % 2 == 0; }));
  EXPECT_EQ(found({.user = "ada", .name = "j2", .state = 1}, INT64_MAX),
            expected([](int64_t id) { return id % 3 == 0 && id % 5 == 2 && id % 4 == 1; }));
}

/// Of one database, as two daemons see it.
class TwoDaemons : public testing::Test {
 protected:
  void SetUp() override {
    if (TestingPostgres::programs().empty()) GTEST_SKIP() << "PostgreSQL is not installed (Debian: postgresql)";
    server_.emplace();
  }
  std::optional<TestingPostgres> server_;
};

TEST_F(TwoDaemons, OneWritesAndTheOtherFollowsUntilItTakesOver) {
  std::optional<EventLog> active = open_log(server_->url());
  EXPECT_THAT(EventLog::open(server_->url()).error().message, HasSubstr("another daemon is active"));
  EventLog standby = open_log(server_->url(), {.follow = true});
  ASSERT_TRUE(active->append(step_of(1)).ok());
  EXPECT_EQ(standby.last_step(), 0);
  ASSERT_TRUE(standby.refresh().ok());
  EXPECT_THAT(payloads(standby), ElementsAre("1:1.0"));
  EXPECT_EQ(standby.append(step_of(2)).error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(*standby.take_over());
  ASSERT_TRUE(active->append(step_of(2)).ok());
  active.reset();
  // The server lets go of the lock when it has seen the end of the connection.
  bool taken = false;
  for (int i = 0; i < 500 && !taken; ++i) {
    taken = *standby.take_over();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_TRUE(taken);
  EXPECT_EQ(standby.last_step(), 2) << "what was written meanwhile comes first";
  EXPECT_EQ(*standby.append(step_of(3)), 3);
}

TEST_F(TwoDaemons, WhoeverHasLostTheLogCannotWriteToIt) {
  EventLog old = open_log(server_->url());
  ASSERT_TRUE(old.append(step_of(1)).ok());
  // As when the server takes the old one for dead while it is not: its epoch has passed.
  EventLog other = open_log(server_->url(), {.follow = true});
  server_->execute("UPDATE stint_log.about SET epoch = epoch + 1");
  const auto refused = old.append(step_of(2));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("taken over"));
  EXPECT_FALSE(old.append(step_of(2)).ok());
  EXPECT_FALSE(old.put_mark({.step = 1, .fingerprint = 1}).ok());
  ASSERT_TRUE(other.refresh().ok());
  EXPECT_THAT(payloads(other), ElementsAre("1:1.0"));
}

TEST_F(TwoDaemons, AServerThatGoesAndComesLosesNothing) {
  EventLog log = open_log(server_->url());
  ASSERT_TRUE(log.append(step_of(1, 3)).ok());
  server_->stop();
  EXPECT_EQ(log.append(step_of(2)).error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(log.find_key("k").ok());
  EXPECT_FALSE(log.reopen().ok());
  server_->start();
  ASSERT_TRUE(log.reopen().ok());
  EXPECT_EQ(log.last_step(), 1);
  ASSERT_TRUE(log.append(step_of(2)).ok());
  EXPECT_EQ(payloads(log).size(), 4U);
}

TEST(EventLog, WhateverFailsAStepIsThereWholeOrNotAtAll) {
  for (const Fault fault : {Fault::kDiskFull, Fault::kWriteError, Fault::kShortWrite, Fault::kSyncError})
    for (int after = 0; after < 12; ++after) {
      const ScratchDir dir;
      EventLog log = open_log(dir / "log.db", {.vfs = FaultyVfs::name()});
      ASSERT_TRUE(log.append(step_of(1)).ok());
      FaultyVfs::fail(fault, after);
      // Large enough for several pages.
      LogStep large = step_of(2, 40);
      for (LogRecord& record : large.records)
        record.payload += std::string(500, 'x');
      const auto appended = log.append(large);
      FaultyVfs::heal();
      if (!appended.ok()) {
        EXPECT_EQ(appended.error().code, ErrorCode::kUnavailable);
        EXPECT_THAT(log.append(step_of(3)).error().message, HasSubstr("reopen"));
      }
      ASSERT_TRUE(log.reopen().ok()) << static_cast<int>(fault) << " after " << after;
      const size_t records = payloads(log).size();
      EXPECT_TRUE(records == 1U || records == 41U) << records;
      // Only a failed sync leaves open which.
      if (appended.ok() || fault != Fault::kSyncError) {
        EXPECT_EQ(records, appended.ok() ? 41U : 1U);
      }
      ASSERT_TRUE(log.append(step_of(4)).ok());
      EXPECT_EQ(payloads(log).size(), records + 1);
    }
}

void execute(const std::string& path, const std::string& sql) {
  auto db = Database::open(path, DatabaseAccess::kReadWrite);
  ASSERT_TRUE(db.ok());
  const Status done = db->execute(sql);
  ASSERT_TRUE(done.ok()) << done.error().message;
}

TEST(EventLog, AFileOfTheFirstVersionIsTakenOver) {
  const ScratchDir dir;
  ASSERT_TRUE(open_log(dir / "log.db").append(step_of(1, 2)).ok());
  execute(dir / "log.db", "DROP TABLE snapshot; DROP TABLE ended_job; DROP TABLE ended_job_text; PRAGMA user_version = 1");
  EventLog log = open_log(dir / "log.db");
  EXPECT_THAT(payloads(log), ElementsAre("1:1.0", "1:1.1"));
  ASSERT_TRUE(log.put_snapshot({.step = 1, .sequence = 2, .version = 1, .fingerprint = 5, .payload = "state"}).ok());
  LogStep step = step_of(2);
  step.ended_jobs = {{.id = 1, .queue = "acme", .user = "ada", .name = "train", .state = 4, .payload = "text"}};
  ASSERT_TRUE(log.append(step).ok());
  EXPECT_EQ(**log.ended_job(1), step.ended_jobs[0]);
}

LogStep posting_step(int n) {
  LogStep step = step_of(n);
  for (const char* client : {"acme", "zoo"})
    step.postings.push_back({.job = 10 * n + (client[0] == 'a'),
                             .client = client,
                             .queue = "q",
                             .node = "n",
                             .when = {kStart, kStart + kHour},
                             .gpu_milli = 1000,
                             .amount = Money::units(3)});
  return step;
}

TEST_P(EveryEventLog, PostingsAreProvedAcrossStarts) {
  {
    EventLog log = open_log(place());
    EXPECT_EQ(log.check_postings()->head, "");
    ASSERT_TRUE(log.append(posting_step(1)).ok());
    ASSERT_TRUE(log.append(step_of(2)).ok());
    ASSERT_TRUE(log.append(posting_step(3)).ok());
    EXPECT_FALSE(log.append(posting_step(3)).ok()) << "posted twice: what failed leaves no link";
  }
  EventLog log = open_log(place());
  ASSERT_TRUE(log.append(posting_step(4)).ok());
  const auto check = log.check_postings();
  ASSERT_TRUE(check.ok()) << check.error().message;
  EXPECT_THAT(check->problems, ElementsAre());
  EXPECT_EQ(check->postings, 6);
  EXPECT_EQ(check->unchained, 0);
  EXPECT_EQ(check->head.size(), 64U);
}

/// What check_postings() finds when somebody has done this to a log of three steps with two postings each.
std::vector<std::string> found_after(const char* sql) {
  const ScratchDir dir;
  {
    EventLog log = open_log(dir / "log.db");
    for (int n = 1; n <= 3; ++n)
      CHECK(log.append(posting_step(n)).ok(), "step {}", n);
  }
  execute(dir / "log.db", sql);
  EventLog log = open_log(dir / "log.db");
  const auto check = log.check_postings();
  CHECK(check.ok(), "{}", check.error().message);
  // A log that was changed goes on.
  CHECK(log.append(posting_step(4)).ok(), "step 4");
  return check->problems;
}

TEST(EventLog, WhateverIsDoneToPostingsIsFound) {
  using ::testing::HasSubstr;
  EXPECT_THAT(found_after("SELECT 1"), ElementsAre());
  for (const char* change :
       {"amount_nanos = amount_nanos - 1", "client = 'ax'", "queue = 'p'", "node = 'm'", "gpu_milli = 1", "end_ns = end_ns + 1",
        "begin_ns = begin_ns + 1", "currency = 'EUR'", "attempt = 7", "task = 7", "job = 77"})
    EXPECT_THAT(found_after(fmt::format("UPDATE posting SET {} WHERE number = 3", change).c_str()),
                ElementsAre(HasSubstr("step 2")))
        << change;
  EXPECT_THAT(found_after("UPDATE posting SET step = 3 WHERE number = 4"), ElementsAre(HasSubstr("step 2"), HasSubstr("step 3")));
  EXPECT_THAT(found_after("DELETE FROM posting WHERE step = 1"), ElementsAre(HasSubstr("step 1")));
  EXPECT_THAT(found_after("DELETE FROM posting WHERE number = 6"), ElementsAre(HasSubstr("step 3")));
  EXPECT_THAT(found_after("INSERT INTO posting SELECT NULL, 2, 99, 0, 0, 'acme', 'q', 'n', 0, 1, 1, 1, 'USD'"),
              ElementsAre(HasSubstr("step 3")))
      << "it stands among those";
  EXPECT_THAT(found_after("INSERT INTO posting SELECT NULL, 9, 99, 0, 0, 'acme', 'q', 'n', 0, 1, 1, 1, 'USD'"),
              ElementsAre(HasSubstr("1 posting of steps from 9 on has no hash")));
  EXPECT_THAT(found_after("DELETE FROM posting WHERE step = 2; DELETE FROM side_row WHERE number = 2"),
              ElementsAre(HasSubstr("steps 2 to 3")));
  EXPECT_THAT(found_after("UPDATE side_row SET payload = CAST('2 x' AS BLOB) WHERE number = 2"),
              ElementsAre(HasSubstr("no link"), HasSubstr("steps 2 to 3")));
}

TEST(EventLog, PostingsOfAnOlderReleaseAreProvedFromTheNextOneOn) {
  const ScratchDir dir;
  ASSERT_TRUE(open_log(dir / "log.db").append(posting_step(1)).ok());
  execute(dir / "log.db", "DELETE FROM side_row");
  EventLog log = open_log(dir / "log.db");
  EXPECT_EQ(log.check_postings()->unchained, 2);
  ASSERT_TRUE(log.append(posting_step(2)).ok());
  EXPECT_EQ(log.check_postings()->unchained, 0);
  EXPECT_THAT(log.check_postings()->problems, ElementsAre());
  execute(dir / "log.db", "UPDATE posting SET amount_nanos = 1 WHERE number = 1");
  EXPECT_THAT(log.check_postings()->problems, ElementsAre(::testing::HasSubstr("steps 1 to 2")));
}

TEST(EventLog, IsKnownByItsHeader) {
  const ScratchDir dir;
  EXPECT_FALSE(is_event_log(dir / "log.db"));
  (void)open_log(dir / "log.db");
  EXPECT_TRUE(is_event_log(dir / "log.db"));
  put_file(dir / "short", "STLG");
  EXPECT_FALSE(is_event_log(dir / "short"));
}

TEST_P(EveryEventLog, ASnapshotIsWrittenInPartsWhileStepsGoOn) {
  EventLog log = open_log(place());
  const auto text = [](int64_t n) { return std::string(size_t{3} << 19, static_cast<char>('a' + n)) + "end"; };
  for (int64_t n = 1; n <= 4; ++n) {
    const LogSnapshot snapshot{.step = n, .sequence = n, .version = 3, .fingerprint = 7, .payload = text(n)};
    size_t written = 0;
    int parts = 0;
    do {
      ASSERT_TRUE(log.put_snapshot_part(snapshot, written).ok());
      ASSERT_TRUE(log.append(step_of(n)).ok());
      const auto newest = log.snapshot_before(INT64_MAX, 3);
      ASSERT_TRUE(newest.ok());
      if (written < snapshot.payload.size()) {
        EXPECT_EQ(*newest ? (*newest)->step : 0, n - 1) << "not before it is whole";
      }
      ++parts;
    } while (written < snapshot.payload.size());
    EXPECT_EQ(parts, 4);
  }
  EXPECT_EQ((*log.snapshot_before(INT64_MAX, 3))->payload, text(4));
  EXPECT_EQ((*log.snapshot_before(4, 3))->payload, text(3));
  EXPECT_FALSE(*log.snapshot_before(3, 3));
}

TEST(EventLog, WhateverFailsASnapshotIsThereWholeOrTheOneBeforeIs) {
  const std::string before(size_t{1} << 20, 'a'), after(size_t{1} << 20, 'b');
  for (const Fault fault : {Fault::kDiskFull, Fault::kWriteError, Fault::kShortWrite, Fault::kSyncError})
    for (const int at : {0, 1, 3, 50, 150, 300}) {
      const ScratchDir dir;
      EventLog log = open_log(dir / "log.db", {.vfs = FaultyVfs::name()});
      ASSERT_TRUE(log.append(step_of(1)).ok());
      ASSERT_TRUE(log.put_snapshot({.step = 1, .sequence = 1, .version = 1, .fingerprint = 5, .payload = before}).ok());
      FaultyVfs::fail(fault, at);
      const bool put = log.put_snapshot({.step = 2, .sequence = 2, .version = 1, .fingerprint = 6, .payload = after}).ok();
      FaultyVfs::heal();
      ASSERT_TRUE(log.reopen().ok()) << static_cast<int>(fault) << " at " << at;
      const auto newest = log.snapshot_before(INT64_MAX, 1);
      ASSERT_TRUE(newest.ok() && *newest) << static_cast<int>(fault) << " at " << at;
      EXPECT_EQ((*newest)->payload, (*newest)->step == 2 ? after : before);
      if (put) {
        EXPECT_EQ((*newest)->step, 2);
      }
      ASSERT_TRUE(log.append(step_of(2)).ok());
    }
}

TEST(EventLog, ASnapshotThatIsNotWhatWasWrittenIsPassedOver) {
  const ScratchDir dir;
  EventLog log = open_log(dir / "log.db");
  for (int64_t n = 1; n <= 2; ++n)
    ASSERT_TRUE(log.put_snapshot({.step = n, .sequence = n, .version = 1, .fingerprint = 5, .payload = "state"}).ok());
  execute(dir / "log.db", "UPDATE snapshot SET payload = 'stale' WHERE step = 2");
  EXPECT_EQ((*log.snapshot_before(INT64_MAX, 1))->step, 1);
  execute(dir / "log.db", "UPDATE snapshot SET payload = 'stale'");
  EXPECT_FALSE(*log.snapshot_before(INT64_MAX, 1));
}

TEST(EventLog, AFullDiskIsSaidOfTheLogAndNotOfAHistory) {
  const ScratchDir dir;
  EventLog log = open_log(dir / "log.db", {.vfs = FaultyVfs::name()});
  FaultyVfs::fail(Fault::kDiskFull);
  const auto appended = log.append(step_of(1));
  FaultyVfs::heal();
  ASSERT_FALSE(appended.ok());
  EXPECT_THAT(appended.error().message, HasSubstr("event log"));
  EXPECT_THAT(appended.error().message, HasSubstr("the disk is full"));
  EXPECT_THAT(appended.error().message, testing::Not(HasSubstr("History")));
}

TEST(EventLog, RefusesWhatIsNone) {
  const ScratchDir dir;
  {
    FILE* file = fopen((dir / "text").c_str(), "w");
    fputs("this is no database, but long enough to look at", file);
    fclose(file);
  }
  EXPECT_FALSE(EventLog::open(dir / "text").ok());
}

}  // namespace
}  // namespace stint
