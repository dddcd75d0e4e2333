#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/importer.h"
#include "codec/testing_import.h"

namespace stint {
namespace {

using testing::HasSubstr;

constexpr std::string_view kHeader =
    "JobID|JobIDRaw|JobName|User|Account|Partition|State|Submit|Start|End|Elapsed|Timelimit|ReqTRES|AllocTRES|NodeList|ReqMem\n";

TestingSink import(const std::string& text, ImportOptions options = {}) {
  options.source = "sacct.txt";
  return import_text(make_sacct_importer, options, text);
}

TEST(Sacct, ReadsAJobAndSkipsItsSteps) {
  const TestingSink sink = import(
      std::string(kHeader) +
      "101|101|train "
      "\"resnet\"|ann|vision|gpu|COMPLETED|2026-10-01T07:00:00|2026-10-01T08:00:00|2026-10-01T20:00:00|12:00:00|1-00:00:00|"
      "cpu=64,gres/gpu=12,mem=1000G|billing=1,cpu=64,gres/gpu:a100=12,gres/gpu=12,mem=1000G,node=5|node[01-03,7],x9|200G\n"
      "101.batch|101.batch|batch|||||||||||cpu=64,gres/gpu=12|node01|\n"
      "101.0|101.0|python|||||||||||gres/gpu=12|node01|\n");
  ASSERT_TRUE(sink.rejected.empty()) << sink.rejected[0].second;
  ASSERT_EQ(sink.runs.size(), 1U);
  const stint::Run& run = sink.runs[0];
  EXPECT_EQ(run.id, "101");
  EXPECT_EQ(run.name, "train \"resnet\"");
  EXPECT_EQ(run.kind, WorkloadKind::kTraining);
  EXPECT_EQ(run.holder.user, "ann");
  EXPECT_EQ(run.holder.account, "vision");
  EXPECT_EQ(run.state, RunState::kCompleted);
  EXPECT_EQ(*run.ended - *run.started, Duration::hours(12));
  EXPECT_EQ(run.time_limit, Duration::hours(24));
  EXPECT_EQ(run.gpus_requested, 12);
  EXPECT_EQ(run.memory, Bytes::gibi(int64_t{1000}));
  ASSERT_EQ(run.allocations.size(), 5U);
  const std::vector<std::pair<std::string, int64_t>> expected = {
      {"node01", 3}, {"node02", 3}, {"node03", 2}, {"node7", 2}, {"x9", 2}};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(run.allocations[i].node, expected[i].first);
    EXPECT_EQ(run.allocations[i].gpu_count, expected[i].second);
    EXPECT_TRUE(run.allocations[i].gpu_indexes.empty());
  }
}

TEST(Sacct, RequeuesOfAJobAreNumbered) {
  const std::string tail = "|2026-10-01T08:00:00|2026-10-01T09:00:00|01:00:00|UNLIMITED||gres/gpu=1|n1|\n";
  const TestingSink sink =
      import(std::string(kHeader) + "7|7|j|u|a|p|PREEMPTED|2026-10-01T07:00:00" + tail +
             "8|8|j|u|a|p|FAILED|2026-10-01T07:00:00" + tail + "7|7|j|u|a|p|CANCELLED by 1001|2026-10-01T07:00:00" + tail);
  ASSERT_EQ(sink.runs.size(), 3U);
  EXPECT_EQ(sink.runs[0].restart, 0);
  EXPECT_EQ(sink.runs[0].state, RunState::kPreempted);
  EXPECT_EQ(sink.runs[1].restart, 0);
  EXPECT_EQ(sink.runs[2].restart, 1);
  EXPECT_EQ(sink.runs[2].state, RunState::kCancelled);
  EXPECT_FALSE(sink.runs[0].time_limit.has_value());
}

TEST(Sacct, ArraysKeepTheirIndexAndTheRawIdIsTheHolders) {
  const TestingSink sink =
      import(std::string(kHeader) +
             "12_3|15|sweep|u|a|p|RUNNING|2026-10-01T07:00:00|2026-10-01T08:00:00|Unknown|01:00:00||gres/gpu=1|gres/gpu=1|n1|\n"
             "12_[4-9]|12|sweep|u|a|p|PENDING|2026-10-01T07:00:00|Unknown|Unknown|00:00:00||gres/gpu=1||None assigned|4Gc\n");
  ASSERT_EQ(sink.runs.size(), 2U);
  EXPECT_EQ(sink.runs[0].id, "12_3");
  EXPECT_EQ(sink.runs[0].holder.job, "15");
  EXPECT_EQ(format_utc(*sink.runs[0].ended), "2026-10-01T09:00:00Z");  // it runs still: Elapsed says until when that is known
  EXPECT_EQ(sink.runs[1].state, RunState::kPending);
  EXPECT_FALSE(sink.runs[1].started.has_value());
  EXPECT_TRUE(sink.runs[1].allocations.empty());
  EXPECT_EQ(sink.runs[1].gpus_requested, 1);
}

TEST(Sacct, LocalTimesAreTakenAtTheGivenOffset) {
  const TestingSink sink =
      import("JobID|State|Start|End\n1|COMPLETED|2026-10-01T08:00:00|2026-10-01T09:00:00\n", {.zoneless = {Duration::hours(2)}});
  ASSERT_EQ(sink.runs.size(), 1U);
  EXPECT_EQ(format_utc(*sink.runs[0].started), "2026-10-01T06:00:00Z");
}

TEST(Sacct, AChangeOfTheClocksDoesNotChangeHowLongAJobRan) {
  const std::string header = "JobID|State|Start|End|Elapsed\n";
  // Berlin, 25 October 2026: 03:00 summer time is 02:00 winter time. Spring, 29 March: 02:00 is 03:00.
  const TestingSink sink = import(header +
                                      "1|COMPLETED|2026-10-25T01:30:00|2026-10-25T02:30:00|02:00:00\n"
                                      "2|COMPLETED|2026-10-25T02:50:00|2026-10-25T02:10:00|00:20:00\n"
                                      "3|COMPLETED|2026-03-29T01:30:00|2026-03-29T03:30:00|01:00:00\n"
                                      // Suspended for ten minutes: it held its GPUs.
                                      "4|COMPLETED|2026-10-01T01:00:00|2026-10-01T02:00:00|00:50:00\n",
                                  {.zoneless = {Duration::hours(2)}});
  ASSERT_TRUE(sink.rejected.empty()) << sink.rejected[0].second;
  const std::vector<Duration> expected = {Duration::hours(2), Duration::minutes(20), Duration::hours(1), Duration::hours(1)};
  ASSERT_EQ(sink.runs.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(*sink.runs[i].ended - *sink.runs[i].started, expected[i]) << i;
}

TEST(Sacct, MigAllocationsAreShares) {
  const TestingSink sink = import(
      "JobID|State|Start|End|AllocTRES|NodeList\n1|COMPLETED|2026-10-01T08:00:00|2026-10-01T09:00:00|gres/gpu:3g.40gb=1|n1\n");
  ASSERT_EQ(sink.runs.size(), 1U);
  EXPECT_EQ(sink.runs[0].share, GpuShare::of(3, 7));
}

TEST(Sacct, BadRowsAreRejectedWithColumnAndValue) {
  const TestingSink sink = import(
      "JobID|State|Start|End|AllocTRES|NodeList\n"
      "x|COMPLETED|2026-10-01T08:00:00|2026-10-01T09:00:00||\n"
      "1|DONE|2026-10-01T08:00:00|2026-10-01T09:00:00||\n"
      "2|FAILED|yesterday|2026-10-01T09:00:00||\n"
      "3|FAILED|2026-10-01T08:00:00|2026-10-01T07:00:00||\n"
      "4|FAILED|2026-10-01T08:00:00|2026-10-01T09:00:00|gres/gpu=many|\n"
      "5|FAILED|2026-10-01T08:00:00|2026-10-01T09:00:00||n[1\n"
      "6|FAILED|2026-10-01T08:00:00|2026-10-01T09:00:00\n");
  EXPECT_TRUE(sink.runs.empty());
  const std::vector<std::string> reasons = {"JobID: 'x'",
                                            "State: 'DONE'",
                                            "Start: 'yesterday'",
                                            "is before Start",
                                            "AllocTRES: 'gres/gpu=many'",
                                            "NodeList: 'n[1'",
                                            "4 fields where the header has 6"};
  ASSERT_EQ(sink.rejected.size(), reasons.size());
  for (size_t i = 0; i < reasons.size(); ++i)
    EXPECT_THAT(sink.rejected[i].second, HasSubstr(reasons[i]));
}

TEST(Sacct, AHeaderlessFileIsRefused) {
  TestingSink sink;
  const auto importer = make_sacct_importer({.source = "f"}, sink);
  const Status status = importer->feed("123|COMPLETED|a\n");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("lacks the columns JobID, State, Start, End"));
}

TEST(Sacct, AJobAcrossAClockChangeRanWhatSlurmCounted) {
  const Instant change = parse_instant("2026-10-25T01:00:00Z").value();  // 03:00 → 02:00 in Berlin
  const LocalZone berlin("Europe/Berlin", Duration::hours(2), {{change, Duration::hours(1)}});
  const TestingSink sink = import(
      "JobID|State|Start|End|Elapsed\n"
      "1|COMPLETED|2026-10-25T01:30:00|2026-10-25T02:30:00|02:00:00\n"   // ends in the second 02:30
      "2|COMPLETED|2026-10-25T02:30:00|2026-10-25T03:30:00|02:00:00\n"   // starts in the first
      "3|COMPLETED|2026-10-25T02:30:00|2026-10-25T03:30:00|01:00:00\n",  // starts in the second
      {.zoneless = berlin});
  ASSERT_EQ(sink.runs.size(), 3U);
  const auto minutes = [&](size_t run) {
    return std::pair((*sink.runs[run].started - change).whole_seconds() / 60,
                     (*sink.runs[run].ended - change).whole_seconds() / 60);
  };
  EXPECT_EQ(minutes(0), std::pair(int64_t{-90}, int64_t{30}));
  EXPECT_EQ(minutes(1), std::pair(int64_t{-30}, int64_t{90}));
  EXPECT_EQ(minutes(2), std::pair(int64_t{30}, int64_t{90}));
}

}  // namespace
}  // namespace stint
