// A History that is written into every few minutes stays bounded and sound.
#include <gmock/gmock.h>

#include "host/scratch_dir.h"
#include "store/history_file.h"

namespace stint {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const Instant kFirstDay = Instant::from_seconds(20'000 * 86'400);

Instant day(int n) { return kFirstDay + Duration::hours(24 * n); }

class RetentionTest : public ::testing::Test {
 protected:
  RetentionTest() : file_(HistoryFile::open(dir_ / "history.db", OpenMode::kCreate).value()) {}

  /// One GPU's power for an hour, and a run that took it.
  void write(Instant from, const std::string& run_id, const std::string& kind = "daemon") {
    auto import = file_.begin_import(kind, "test", from);
    CHECK(import.ok(), "{}", import.error().message);
    const SeriesId series = (*import)->series({.device = {.node = "n0", .index = 0}, .holder = {}, .metric = Metric::kPower});
    std::vector<Sample> samples;
    for (int m = 0; m < 60; ++m)
      samples.push_back({from + Duration::minutes(m), 100});
    (*import)->samples(series, samples);
    stint::Run run;
    run.id = run_id;
    run.started = from;
    run.ended = from + kHour;
    (*import)->run(run);
    const auto done = (*import)->commit(kind + run_id);
    CHECK(done.ok(), "{}", done.error().message);
  }
  [[nodiscard]] History all() { return file_.load().value(); }

  ScratchDir dir_;
  HistoryFile file_;
};

TEST_F(RetentionTest, ImportsOfADayBecomeOneAndNothingElseChanges) {
  for (int hour = 0; hour < 5; ++hour)
    write(day(0) + kHour * hour, std::to_string(hour));
  write(day(1), "5");
  write(day(1), "other", "sacct");
  const HistoryInfo before = file_.info().value();
  ASSERT_TRUE(file_.fold_imports("daemon").ok());
  const HistoryInfo after = file_.info().value();
  EXPECT_EQ(after.imports, 3u);
  EXPECT_EQ(after.runs, before.runs);
  EXPECT_EQ(after.telemetry, before.telemetry);
  EXPECT_EQ(all().imports[0].accepted, 5u * 61u);
  EXPECT_THAT(file_.check().value(), IsEmpty());
  ASSERT_TRUE(file_.fold_imports("daemon").ok()) << "again";
  EXPECT_EQ(file_.info()->imports, 3u);
}

TEST_F(RetentionTest, WhatIsOlderIsGoneAndTheFileIsSound) {
  for (int d = 0; d < 6; ++d)
    write(day(d), std::to_string(d));
  write(day(0), "kept", "sacct");
  ASSERT_TRUE(file_.forget_before("daemon", day(4) + kHour * 12).ok());
  const History left = all();
  ASSERT_THAT(left.runs, SizeIs(2)) << "the last day's, and one that is not the daemon's";
  EXPECT_EQ(left.runs[0].id, "kept");
  EXPECT_EQ(left.runs[1].id, "5");
  const HistoryInfo info = file_.info().value();
  EXPECT_EQ(info.rollup_days, 2u);
  EXPECT_EQ(info.telemetry, (Interval{day(4), day(5) + kHour}));
  EXPECT_THAT(file_.check().value(), IsEmpty());
}

}  // namespace
}  // namespace stint
