#include "sim/job_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace stint::sim {
namespace {

JobTraceOptions small() {
  JobTraceOptions options;
  options.jobs = 20'000;
  options.clusters = 2;
  return options;
}

TEST(JobTrace, MeetsItsLoadInEveryCluster) {
  const JobTraceOptions options = small();
  const JobTrace trace = make_job_trace(options);
  ASSERT_EQ(trace.jobs.size(), 20'000U);
  for (uint32_t c = 0; c < 2; ++c) {
    double gpu_seconds = 0;
    Instant first = Instant::from_ns(INT64_MAX);
    Instant last;
    for (const TraceJob& job : trace.jobs) {
      if (job.cluster != c) continue;
      gpu_seconds += job.duration.to_seconds() * job.gpus;
      first = std::min(first, job.submitted);
      last = std::max(last, job.submitted);
    }
    EXPECT_NEAR(gpu_seconds / ((last - first).to_seconds() * 40 * 8), options.load, 0.01);
  }
}

TEST(JobTrace, SizesArePowersOfTwoAndMostlyOne) {
  const JobTrace trace = make_job_trace(small());
  size_t single = 0;
  for (const TraceJob& job : trace.jobs) {
    ASSERT_TRUE(std::has_single_bit(static_cast<uint32_t>(job.gpus)) && job.gpus <= 128) << job.gpus;
    single += job.gpus == 1 ? 1 : 0;
  }
  EXPECT_GT(single, trace.jobs.size() / 2);
}

TEST(JobTrace, FewLongJobsHoldMostOfTheTime) {
  std::vector<double> seconds;
  double total = 0;
  for (const TraceJob& job : make_job_trace(small()).jobs) {
    seconds.push_back(job.duration.to_seconds());
    total += seconds.back();
  }
  std::sort(seconds.rbegin(), seconds.rend());
  double top = 0;
  for (size_t j = 0; j < seconds.size() / 10; ++j)
    top += seconds[j];
  EXPECT_GT(top, total / 2);                     // a tenth of the jobs, more than half of the time
  EXPECT_LT(seconds[seconds.size() / 2], 3600);  // the median is under an hour
  EXPECT_GT(seconds.front(), 7 * 86400);         // the longest takes more than a week
}

TEST(JobTrace, MoreArrivesByDay) {
  size_t day = 0;
  size_t night = 0;
  for (const TraceJob& job : make_job_trace(small()).jobs) {
    const int64_t hour = job.submitted.seconds() / 3600 % 24;
    if (hour >= 11 && hour < 17) ++day;
    if (hour < 5) ++night;
  }
  EXPECT_GT(day, 2 * night);
}

TEST(JobTrace, JobsOfAKindAreAlikeAndMostAreOfOne) {
  JobTraceOptions options = small();
  options.users = 20;
  options.kinds = 8;
  const JobTrace trace = make_job_trace(options);
  std::vector<std::vector<double>> logs(trace.names.size());
  std::vector<uint32_t> user(trace.names.size());
  for (const TraceJob& job : trace.jobs) {
    if (!logs[job.name].empty()) {
      EXPECT_EQ(user[job.name], job.user) << "names are their users'";
    }
    user[job.name] = job.user;
    logs[job.name].push_back(std::log(job.duration.to_seconds()));
  }
  const auto median = [](std::vector<double> values) {
    std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
    return values[values.size() / 2];
  };
  size_t recurring = 0;
  size_t near = 0;
  for (const std::vector<double>& of_name : logs) {
    if (of_name.size() < 5) continue;
    recurring += of_name.size();
    for (const double d : of_name)
      near += std::abs(d - median(of_name)) < std::log(4) ? 1U : 0U;
  }
  EXPECT_NEAR(static_cast<double>(recurring) / 20'000, 0.75, 0.05);
  EXPECT_GT(near, recurring * 2 / 3) << "within a factor of four, though half of the kinds change";
  EXPECT_LT(near, recurring) << "and some fail early";
}

TEST(JobTrace, SameSeedSameTrace) {
  JobTraceOptions options = small();
  options.users = 10;
  const JobTrace a = make_job_trace(options);
  const JobTrace b = make_job_trace(options);
  options.seed = 2;
  const JobTrace c = make_job_trace(options);
  const auto same = [](const TraceJob& x, const TraceJob& y) {
    return x.submitted == y.submitted && x.duration == y.duration && x.gpus == y.gpus && x.user == y.user;
  };
  EXPECT_TRUE(std::equal(a.jobs.begin(), a.jobs.end(), b.jobs.begin(), b.jobs.end(), same));
  EXPECT_FALSE(std::equal(a.jobs.begin(), a.jobs.end(), c.jobs.begin(), c.jobs.end(), same));
}

}  // namespace
}  // namespace stint::sim
