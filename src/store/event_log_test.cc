#include "store/event_log.h"

#include <gmock/gmock.h>

#include "host/scratch_dir.h"
#include "store/testing_faulty_vfs.h"

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

TEST(EventLog, GivesBackWhatWasAppended) {
  const ScratchDir dir;
  {
    EventLog log = open_log(dir / "log.db");
    EXPECT_EQ(*log.append(step_of(1, 2)), 1);
    EXPECT_EQ(*log.append(step_of(2)), 2);
  }
  EventLog log = open_log(dir / "log.db");
  EXPECT_EQ(log.last_step(), 2);
  EXPECT_EQ(log.last_sequence(), 3);
  EXPECT_EQ(log.last_at(), kStart + Duration::seconds(2));
  EXPECT_THAT(payloads(log), ElementsAre("1:1.0", "1:1.1", "2:2.0"));
}

TEST(EventLog, AKeyIsThereOnceAndItsStepWithIt) {
  const ScratchDir dir;
  EventLog log = open_log(dir / "log.db");
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

TEST(EventLog, PostingsAndSideRowsComeWithTheirStep) {
  const ScratchDir dir;
  EventLog log = open_log(dir / "log.db");
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
