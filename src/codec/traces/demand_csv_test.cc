#include "codec/traces/demand_csv.h"

#include <gmock/gmock.h>

#include "codec/changes/known_change.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

struct Read {
  std::vector<DemandSeries> series;
  DemandCsvCounts counts;
};

Read read(std::string_view text, std::optional<Duration> step = {}, size_t piece = 11) {
  DemandCsvReader reader("demand.csv");
  for (size_t at = 0; at < text.size(); at += piece)
    EXPECT_TRUE(reader.feed(text.substr(at, piece)).ok());
  auto series = reader.finish(step);
  EXPECT_TRUE(series.ok()) << series.error().message;
  return {series.ok() ? *series : std::vector<DemandSeries>{}, reader.counts()};
}

std::string error_of(std::string_view text, std::optional<Duration> step = {}) {
  DemandCsvReader reader("demand.csv");
  if (const Status fed = reader.feed(text); !fed.ok()) return fed.error().message;
  const auto series = reader.finish(step);
  return series.ok() ? "no error" : series.error().message;
}

TEST(DemandCsv, LeavesMissingHoursOpen) {
  const Read r = read("time,value\n2026-09-07 00:00:00,5\n2026-09-07 01:00:00,\n2026-09-07 03:00:00,7\n2026-09-07 04:00:00,8\n");
  ASSERT_EQ(r.series.size(), 1U);
  EXPECT_EQ(r.series[0].step, kHour);
  EXPECT_EQ(r.series[0].begin, *parse_instant("2026-09-07"));
  EXPECT_THAT(r.series[0].values, ElementsAre(Optional(5.0), std::nullopt, std::nullopt, Optional(7.0), Optional(8.0)));
}

TEST(DemandCsv, CountsHoursFromZeroWhereTheColumnSaysSo) {
  const Read r = read("hour,gpus\n0,1\n1,3\n2,2\n");
  EXPECT_EQ(r.series[0].name, "gpus");
  EXPECT_EQ(r.series[0].begin, Instant());
  EXPECT_THAT(r.series[0].values, ElementsAre(Optional(1.0), Optional(3.0), Optional(2.0)));
}

TEST(DemandCsv, AveragesValuesWithinAStepAndAddsContainers) {
  // Type A, hour 0: container x has 2 and 4 (mean 3), y has 1; hour 1: y alone.
  const Read r = read(
      "timestamp_anon,value,container_ip,request_type\n"
      "7200.0,2,x,A\n7200.0,1,y,A\n9000.0,4,x,A\n10800.0,5,y,A\n10800.0,9,z,B\n",
      kHour);
  ASSERT_EQ(r.series.size(), 2U);
  EXPECT_EQ(r.series[0].name, "A");
  EXPECT_THAT(r.series[0].values, ElementsAre(Optional(4.0), Optional(5.0)));
  EXPECT_THAT(r.series[1].values, ElementsAre(std::nullopt, Optional(9.0)));
}

TEST(DemandCsv, CountsRequestsOfWholeStepsOnly) {
  // 18:15:30 to 18:18:10: the whole minutes are 18:16 and 18:17.
  const Read r = read(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n"
      "2023-11-16 18:15:30.5,100,10\n2023-11-16 18:16:01.0,200,20\n2023-11-16 18:16:59.0,300,20\n2023-11-16 18:18:10.0,1,1\n",
      Duration::minutes(1));
  ASSERT_EQ(r.series.size(), 2U);
  EXPECT_EQ(r.series[0].name, "requests");
  EXPECT_EQ(r.series[0].begin, *parse_instant("2023-11-16 18:16:00"));
  EXPECT_THAT(r.series[0].values, ElementsAre(Optional(2.0 / 60), Optional(0.0)));
  EXPECT_THAT(r.series[1].values, ElementsAre(Optional(540.0 / 60), Optional(0.0)));
  EXPECT_EQ(r.counts.accepted, 4U);
}

TEST(DemandCsv, HoldsInstancesFromCreationToDeletion) {
  // Two GPUs from before, one more from 1:30 on; one goes at 2:15 (and marks the end of the trace at 3:00).
  const Read r = read(
      "role,gpu_request,creation_time,deletion_time\n"
      "HN,1,,\nHN,1,,8100\nHN,1,5400,\nCN,0,0,10800\n",
      kHour);
  ASSERT_EQ(r.series.size(), 2U);
  EXPECT_EQ(r.series[0].name, "CPU instances in use");
  EXPECT_THAT(r.series[0].values, ElementsAre(Optional(1.0), Optional(1.0), Optional(1.0)));
  EXPECT_THAT(r.series[1].values, ElementsAre(Optional(2.0), Optional(2.5), Optional(2.25)));
}

TEST(DemandCsv, ChoosesAStepThatGivesTwoWeeksWorthOfValues) {
  const auto every = [](int64_t seconds, int count) {
    std::string text = "time,value\n";
    for (int i = 0; i < count; ++i)
      text += fmt::format("{},1\n", 1'700'000'000 / 3600 * 3600 + i * seconds);
    return read(text).series[0].step;
  };
  EXPECT_EQ(every(600, 336 * 6 + 1), kHour);
  EXPECT_EQ(every(60, 1340), Duration::minutes(1));  // 22 hours: 268 of 5 minutes are too few
  EXPECT_EQ(every(57, 2000), Duration::minutes(5));  // 31 hours
  EXPECT_EQ(every(3600, 50), kHour);                 // no shorter than the values lie apart
  EXPECT_EQ(every(86'400, 50), kHour * 24);
  EXPECT_EQ(every(1, 340), Duration::seconds(1));
}

TEST(DemandCsv, RejectsBadRowsWithTheirLine) {
  const Read r = read("time,value\nsoon,1\n0,many\n0,1,2\n3600,1\n7200,inf\n");
  EXPECT_EQ(r.counts.accepted, 1U);
  EXPECT_EQ(r.counts.rejected, 4U);
  EXPECT_THAT(r.counts.reasons[0], HasSubstr("demand.csv:2: 'soon' is no time"));
  EXPECT_THAT(r.counts.reasons[1], HasSubstr("demand.csv:3: 'many' is no value"));
  EXPECT_THAT(r.counts.reasons[2], HasSubstr("demand.csv:4: 3 fields, expected 2"));
  EXPECT_THAT(read("role,gpu_request,creation_time,deletion_time\nHN,1,9000,8000\nHN,1,0,9000\n").counts.reasons[0],
              HasSubstr("demand.csv:2: it is deleted before"));
}

TEST(DemandCsv, RejectsTimesTooFarAwayToCountFrom) {
  const Read r = read("time,value\n0,1\n3600,1\n99999999999.00000000001,1\n7258118400,1\n9200000000000000,1\n");
  EXPECT_EQ(r.counts.accepted, 2U);
  EXPECT_EQ(r.counts.rejected, 3U);
}

TEST(DemandCsv, SaysWhatIsWrongWithAWholeFile) {
  EXPECT_THAT(error_of(""), HasSubstr("empty"));
  EXPECT_THAT(error_of("a,b,c\n1,2,3\n"), HasSubstr("expected the columns time,value"));
  EXPECT_THAT(error_of("time,value\nx,1\n"), HasSubstr("demand.csv:2"));
  EXPECT_THAT(error_of("time,value\n0,1\n3600,1\n7200,1\n1700000000,5\n"), HasSubstr("(line 5)"));
  EXPECT_THAT(error_of("time,value\n0,1\n3600,1\n", Duration::milliseconds(5)), HasSubstr("from a second to a week"));
  EXPECT_THAT(error_of("time,value\n0,1\n864000,1\n"), HasSubstr("at least one a day"));
}

TEST(KnownChange, IsReadAsWritten) {
  const auto more = parse_known_change("2026-12-01:+40");
  ASSERT_TRUE(more.ok()) << more.error().message;
  EXPECT_EQ(more->from, *parse_instant("2026-12-01"));
  EXPECT_FALSE(more->until);
  EXPECT_EQ(more->plus, 40);
  EXPECT_EQ(more->factor, 1);
  const auto holidays = parse_known_change("2026-12-24T12:00:00Z..2027-01-02:x0.3");
  ASSERT_TRUE(holidays.ok()) << holidays.error().message;
  EXPECT_EQ(holidays->from, *parse_instant("2026-12-24T12:00:00Z"));
  EXPECT_EQ(*holidays->until, *parse_instant("2027-01-02"));
  EXPECT_EQ(holidays->factor, 0.3);
  EXPECT_EQ(parse_known_change("2026-12-01:-2.5")->plus, -2.5);
}

TEST(KnownChange, SaysWhatIsExpected) {
  for (const char* text : {"", "40", "2026-12-01", "2026-12-01:", "2026-12-01:40", "2026-12-01:x-1", "2026-12-01:+nan"})
    EXPECT_THAT(parse_known_change(text).error().message, HasSubstr("expected")) << text;
  EXPECT_FALSE(parse_known_change("tomorrow:+4").ok());
}

}  // namespace
}  // namespace stint
