#include "documents/workload_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "documents/workload_row.h"

namespace stint {
namespace {

using testing::HasSubstr;

constexpr std::string_view kSample =
    "stint-workload/1\r\n# two queues share two machines\n"
    "[queues]\nname,deserved,parent,budget,budget_period,budget_from\nresearch,4,,1234.5,168h,2026-09-28\n"
    "\"vision, east\",1.5,research,,,\n"
    "[prices]\nname,from,per_hour\nspot,2026-10-01,3.5\nspot,2026-10-02,4.25\n"
    "[nodes]\nname,count,gpus,gpu_memory,market,per_hour,prices\nbox,2,8,80GiB,spot,5,spot\nown,,4,,owned,,\n"
    "[jobs]\nqueue,name,submitted,run_time,tasks,gpus,share,mig,checkpoint,after\n"
    "research,a,2026-10-01T08:00:00Z,1h30m,2,8,,,1h,\n"
    "\"vision, east\",b,2026-10-01T09:00:00Z,90.5,,,0.25,,,a\n"
    "research,c,2026-10-01T09:00:00Z,60,,,,2x1g.10gb 3g.40gb,,a|b\n"
    "[outages]\nnode,cause,down,up\nbox-2,spot-interruption,2026-10-01T10:00:00Z,2026-10-01T11:00:00Z\n";

Result<sim::Workload> read(std::string_view text, size_t piece = 1 << 20) {
  WorkloadReader reader("w.csv");
  for (size_t at = 0; at < text.size(); at += piece)
    TRY(reader.feed(text.substr(at, piece)));
  return reader.finish();
}

std::string error_of(std::string_view text) {
  const auto got = read(text);
  return got.ok() ? "none" : got.error().message;
}

TEST(WorkloadFile, HoursDeferralAndTrialsAreReadAndWritten) {
  const std::string text =
      "stint-workload/1\n[queues]\nname,hours\nnight,20:00-06:00\nday,\n[nodes]\nname,gpus\na,8\n"
      "[studies]\nname,first_rung,most,reduction\nlr,1,27,3\n"
      "[jobs]\nname,queue,submitted,run_time,deferrable,deadline,study,losses\n"
      "x,night,2026-10-01,1h,yes,2026-10-02,,\ny,day,2026-10-01,1h,,,lr,0.9|0.25\n";
  const auto got = read(text);
  ASSERT_TRUE(got.ok()) << got.error().message;
  for (size_t hour = 0; hour < 168; ++hour)
    EXPECT_EQ(got->queues[0].closed[hour], hour % 24 >= 6 && hour % 24 < 20) << hour;
  EXPECT_TRUE(got->queues[1].closed.none());
  EXPECT_TRUE(got->jobs[0].spec.deferrable);
  EXPECT_FALSE(got->jobs[1].spec.deferrable);
  EXPECT_EQ(got->jobs[1].spec.study, sched::StudyId(0));
  EXPECT_EQ(got->jobs[1].losses_micro, (std::vector<int64_t>{900'000, 250'000}));
  EXPECT_EQ(got->studies[0].rules.most, 27);
  const std::string written = write_workload(*got).value();
  const auto again = read(written);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(write_workload(*again).value(), written);
  EXPECT_EQ(again->queues[0].closed, got->queues[0].closed);
  EXPECT_EQ(again->jobs[1].losses_micro, got->jobs[1].losses_micro);
  for (const char* wrong : {"20-06", "20:30-06:00", "06:00-06:00", "25:00-06:00", "20:00"}) {
    std::string bad = text;
    bad.replace(bad.find("20:00-06:00"), 11, wrong);
    EXPECT_THAT(error_of(bad), HasSubstr("hours")) << wrong;
  }
}

TEST(WorkloadFile, ReadsEverySectionCutAnywhere) {
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{4096}}) {
    const auto got = read(kSample, piece);
    ASSERT_TRUE(got.ok()) << got.error().message;
    const sim::Workload& w = *got;
    ASSERT_EQ(w.queues.size(), 2U);
    EXPECT_EQ(w.queues[1].name, "vision, east");
    EXPECT_EQ(w.queues[1].parent, sched::QueueId(0));
    EXPECT_EQ(w.queues[1].deserved.gpu_milli, 1500);
    EXPECT_FALSE(w.queues[1].limit.gpu_milli.has_value());
    ASSERT_TRUE(w.queues[0].budget.has_value());
    EXPECT_EQ(w.queues[0].budget->amount, Money::nanos(1'234'500'000'000));
    EXPECT_EQ(w.queues[0].budget->period, Duration::hours(168));
    EXPECT_EQ(format_utc(w.queues[0].budget->from), "2026-09-28T00:00:00Z");
    EXPECT_FALSE(w.queues[1].budget.has_value());
    ASSERT_EQ(w.nodes.size(), 3U);
    EXPECT_EQ(w.nodes[1].node.name, "box-2");
    EXPECT_EQ(w.nodes[1].node.gpu_memory, Bytes::gibi(int64_t{80}));
    EXPECT_EQ(w.nodes[1].prices, 0);
    EXPECT_EQ(w.nodes[2].market, Market::kOwned);
    ASSERT_EQ(w.prices[0].points.size(), 2U);
    EXPECT_EQ(w.prices[0].points[1].rate.per_hour(), Money::nanos(4'250'000'000));
    ASSERT_EQ(w.jobs.size(), 3U);
    EXPECT_EQ(w.jobs[0].run_time, Duration::minutes(90));
    EXPECT_EQ(w.jobs[0].spec.min_tasks, 2);
    EXPECT_EQ(w.jobs[0].spec.checkpoint.interval, Duration::hours(1));
    EXPECT_EQ(w.jobs[1].run_time, Duration::milliseconds(90'500));
    EXPECT_EQ(w.requests[w.jobs[1].spec.request.index()].milli, 250);
    EXPECT_EQ(w.requests[w.jobs[2].spec.request.index()].mig[0].count, 2);
    EXPECT_EQ(w.jobs[2].spec.after.size(), 2U);
    ASSERT_EQ(w.outages.size(), 1U);
    EXPECT_EQ(w.outages[0].notice, w.outages[0].down);
    EXPECT_EQ(w.outages[0].cause, sim::OutageCause::kSpotInterruption);
  }
}

TEST(WorkloadFile, WhatIsWrittenIsReadBack) {
  const sim::Workload first = read(kSample).value();
  const auto text = write_workload(first);
  ASSERT_TRUE(text.ok()) << text.error().message;
  const auto second = read(*text);
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(write_workload(*second).value(), *text);
  EXPECT_EQ(second->requests, first.requests);
  EXPECT_EQ(second->queues[0].budget, first.queues[0].budget);
  EXPECT_EQ(second->queues[1].budget, first.queues[1].budget);
  EXPECT_EQ(second->outages, first.outages);
  for (size_t i = 0; i < first.jobs.size(); ++i) {
    EXPECT_EQ(second->jobs[i].run_time, first.jobs[i].run_time);
    EXPECT_EQ(second->jobs[i].spec.after, first.jobs[i].spec.after);
    EXPECT_EQ(second->jobs[i].spec.submitted, first.jobs[i].spec.submitted);
  }
}

TEST(WorkloadFile, WithWhomAPartIsSharedIsReadAndWritten) {
  const std::string head = "stint-workload/1\n[queues]\nname\nq\n[nodes]\nname,gpus\nn,1\n[jobs]\n";
  const std::string columns = "name,queue,submitted,run_time,share,gpus,shares_with\n";
  const auto got = read(head + columns + "j,q,2026-10-01,60,0.5,,acme\n");
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got->requests[0].shares_with, "acme");
  EXPECT_EQ(read(write_workload(*got).value())->requests, got->requests);
  EXPECT_THAT(error_of(head + columns + "j,q,2026-10-01,60,,1,acme\n"), HasSubstr("shares_with"));
}

TEST(WorkloadFile, WhatHasNoColumnIsRefused) {
  sim::Workload w = read(kSample).value();
  w.nodes[0].node.repartition = true;
  EXPECT_THAT(write_workload(w).error().message, HasSubstr("box-1"));
  w = read(kSample).value();
  w.requests[0].labels = {{"app", "x"}};
  EXPECT_THAT(write_workload(w).error().message, HasSubstr("job 'a'"));
  w = read(kSample).value();
  w.jobs[1].name = "a";
  EXPECT_THAT(write_workload(w).error().message, HasSubstr("job 'a'"));
}

TEST(WorkloadFile, ErrorsNameTheLine) {
  const std::string head =
      "stint-workload/1\n[queues]\nname\nq\n[nodes]\nname,gpus\nn,8\n[jobs]\nname,queue,submitted,run_time,gpus\n";
  EXPECT_THAT(error_of(""), HasSubstr("first line must be stint-workload/1"));
  EXPECT_THAT(error_of("stint-workload/2\n"), HasSubstr("w.csv:1:"));
  EXPECT_THAT(error_of("stint-workload/1\na,b\n"), HasSubstr("w.csv:2: a row before"));
  EXPECT_THAT(error_of("stint-workload/1\n[pods]\n"), HasSubstr("no section 'pods'"));
  EXPECT_THAT(error_of("stint-workload/1\n[queues]\nname,colour\n"), HasSubstr("no column 'colour'"));
  EXPECT_THAT(error_of("stint-workload/1\n[queues]\nname,budget\nq,-5\n"), HasSubstr("budget '-5'"));
  EXPECT_THAT(error_of("stint-workload/1\n[queues]\nname,budget_period\nq,24h\n"), HasSubstr("w.csv:4: budget"));
  EXPECT_THAT(error_of("stint-workload/1\n[queues]\nname,budget,currency\nq,5,dollars\n"), HasSubstr("w.csv:4:"));
  EXPECT_THAT(error_of("stint-workload/1\n[queues]\nname,budget,currency\nq,5,EUR\n[nodes]\nname,gpus\nn,8\n[jobs]\n"
                       "name,queue,submitted,run_time,gpus\nj,q,2026-10-01,60,1\n"),
              HasSubstr("its budget is not in USD"));
  EXPECT_THAT(error_of(head), HasSubstr("needs a node and a job"));
  EXPECT_THAT(error_of(head + "j,q,2026-10-01,60\n"), HasSubstr("w.csv:10: 4 fields, expected 5"));
  EXPECT_THAT(error_of(head + "j,x,2026-10-01,60,1\n"), HasSubstr("no queue 'x'"));
  EXPECT_THAT(error_of(head + "j,q,yesterday,60,1\n"), HasSubstr("submitted 'yesterday'"));
  EXPECT_THAT(error_of(head + "j,q,2026-10-01,-5,1\n"), HasSubstr("run_time '-5'"));
  EXPECT_THAT(error_of(head + "j,q,2026-10-01,60,17\n"), HasSubstr("gpus '17'"));
  EXPECT_THAT(error_of(head + "j,q,2026-10-02,60,1\nk,q,2026-10-01,60,1\n"), HasSubstr("sort by time"));
  EXPECT_THAT(error_of(head + "j,q,2026-10-01,60,1\nj,q,2026-10-01,60,1\n"), HasSubstr("w.csv:11: the name 'j' stands twice"));
  EXPECT_EQ(error_of(head + "j,q,2026-10-01,60,1\n"), "none");
}

TEST(WorkloadFile, ARowWithACountIsAnArray) {
  const auto got = read(
      "stint-workload/1\n[queues]\nname\nq\n[nodes]\nname,gpus\nbox,8\n"
      "[jobs]\nname,queue,submitted,run_time,gpus,count,array,at_once,after,makes\n"
      "prepare,q,2026-10-01,60,0,,,,,tokens-v3\n"
      "sweep,q,2026-10-01,60,1,3,,2,prepare,\n"
      "extra,q,2026-10-01,60,1,,sweep,2,,\n"
      "report,q,2026-10-01,60,0,,,,sweep|extra,\n");
  ASSERT_TRUE(got.ok()) << got.error().message;
  ASSERT_EQ(got->jobs.size(), 6U);
  EXPECT_EQ(got->jobs[3].name, "sweep-3");
  EXPECT_EQ(got->jobs[3].spec.array, got->jobs[4].spec.array);
  EXPECT_EQ(got->jobs[3].spec.at_once, 2);
  EXPECT_FALSE(got->jobs[0].spec.array.valid());
  EXPECT_EQ(got->products[got->jobs[0].spec.makes.index()], "tokens-v3");
  EXPECT_EQ(got->jobs[5].spec.after.size(), 4U);
  const auto text = write_workload(*got);
  ASSERT_TRUE(text.ok()) << text.error().message;
  const auto again = read(*text);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(write_workload(*again).value(), *text);
  EXPECT_EQ(again->jobs[2].spec.array, again->jobs[4].spec.array);
}

TEST(WorkloadFile, AtOnceNeedsAnArray) {
  EXPECT_THAT(error_of("stint-workload/1\n[queues]\nname\nq\n[nodes]\nname,gpus\nbox,8\n"
                       "[jobs]\nname,queue,submitted,run_time,at_once\nj,q,2026-10-01,60,2\n"),
              HasSubstr("w.csv:10: at_once is of an array"));
}

TEST(WorkloadFile, AnyCutOfItIsReadOrRefused) {
  for (size_t end = 0; end <= kSample.size(); ++end) {
    const auto got = read(kSample.substr(0, end), 13);
    EXPECT_TRUE(!got.ok() || sim::check_workload(*got).ok()) << end;
  }
  for (size_t at = 0; at < kSample.size(); ++at)
    for (const char c : {'\0', '"', ',', '\n', '-', '9', '['}) {
      std::string damaged(kSample);
      damaged[at] = c;
      const auto got = read(damaged);
      EXPECT_TRUE(!got.ok() || sim::check_workload(*got).ok()) << at;
    }
}

TEST(WorkloadRow, ScaledNumbersAreExact) {
  EXPECT_EQ(parse_scaled("1.5", 3), 1500);
  EXPECT_EQ(parse_scaled("0.000000001", 9), 1);
  for (const char* wrong : {"", ".5", "1.", "1.2345", "-1", "+1", "1e3", "99999999999999999999", "1.5.1"})
    EXPECT_FALSE(parse_scaled(wrong, 3).has_value()) << wrong;
  EXPECT_EQ(format_scaled(1500, 3), "1.5");
  EXPECT_EQ(format_scaled(0, 9), "0");
  EXPECT_EQ(format_scaled(5'400'000'000'000, 9), "5400");
  EXPECT_EQ(format_scaled(1, 3), "0.001");
}

TEST(WorkloadRow, SizesKeepTheirBytes) {
  EXPECT_EQ(parse_size("80GiB"), Bytes::gibi(int64_t{80}));
  EXPECT_EQ(parse_size("1025"), Bytes::of(1025));
  EXPECT_FALSE(parse_size("80GB").has_value());
  EXPECT_FALSE(parse_size("9999999999GiB").has_value());
  EXPECT_EQ(format_size(Bytes::mebi(1536)), "1536MiB");
  EXPECT_EQ(format_size(Bytes::of(7)), "7");
}

}  // namespace
}  // namespace stint
