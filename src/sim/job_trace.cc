#include "sim/job_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/prng.h"

namespace stint::sim {
namespace {

/// GPUs and how many jobs of a thousand ask for them.
struct SizeShare {
  int32_t gpus;
  int32_t per_mille;
};
constexpr std::array<SizeShare, 8> kSizes = {{{1, 620}, {2, 110}, {4, 110}, {8, 110}, {16, 30}, {32, 13}, {64, 5}, {128, 2}}};

constexpr double kShortShare = 0.7;  // short jobs: lognormal, median ten minutes
constexpr double kShortMedianS = 600;
constexpr double kShortSigma = 1.8;
constexpr double kLongMinimumS = 2400;  // long ones: Pareto
constexpr double kLongAlpha = 0.9;
constexpr double kLongestS = 14 * 86400;
constexpr int64_t kStartS = 1'767'571'200;  // Monday 2026-01-05
constexpr double kHourS = 3600;

int32_t draw_gpus(Prng& random, int32_t max_gpus) {
  while (true) {
    auto at = static_cast<int32_t>(random.below(1000));
    for (const SizeShare& size : kSizes) {
      if (at < size.per_mille && size.gpus <= max_gpus) return size.gpus;
      at -= size.per_mille;
      if (at < 0) break;
    }
  }
}

int64_t draw_duration_s(Prng& random) {
  const double s = random.uniform() < kShortShare ? kShortMedianS * std::exp(kShortSigma * random.normal())
                                                  : kLongMinimumS * std::pow(1 - random.uniform(), -1 / kLongAlpha);
  return std::max<int64_t>(1, std::llround(std::min(s, kLongestS)));
}

/// Relative arrivals in an hour of the week, Monday 00:00 first.
double intensity(int64_t hour) {
  const int64_t hour_of_day = hour % 24;
  const bool weekend = hour / 24 % 7 >= 5;
  const double day = 1 + 0.6 * std::sin(2 * std::numbers::pi * static_cast<double>(hour_of_day - 8) / 24);
  return weekend ? day * 0.6 : day;
}

/// `count` seconds within `span_s`, ascending: uniform draws, stretched by the intensity of the hours.
std::vector<int64_t> draw_arrivals(Prng& random, size_t count, double span_s) {
  const auto hours = static_cast<int64_t>(std::ceil(span_s / kHourS)) + 1;
  std::vector<double> until(static_cast<size_t>(hours) + 1);  // intensity up to the hour's begin
  for (int64_t h = 0; h < hours; ++h)
    until[static_cast<size_t>(h) + 1] = until[static_cast<size_t>(h)] + intensity(h);
  const double whole_hours = std::floor(span_s / kHourS);
  const auto last = static_cast<int64_t>(whole_hours);
  const double total = until[static_cast<size_t>(last)] + intensity(last) * (span_s / kHourS - whole_hours);
  std::vector<double> draws(count);
  for (double& draw : draws)
    draw = random.uniform() * total;
  std::sort(draws.begin(), draws.end());
  std::vector<int64_t> seconds;
  seconds.reserve(count);
  size_t hour = 0;
  for (const double draw : draws) {
    while (until[hour + 1] < draw)
      ++hour;
    const double within = (draw - until[hour]) / (until[hour + 1] - until[hour]);
    seconds.push_back(static_cast<int64_t>((static_cast<double>(hour) + within) * kHourS));
  }
  return seconds;
}

void add_cluster(JobTrace& trace, uint32_t cluster, size_t count, Prng random, const JobTraceOptions& options) {
  std::vector<TraceJob> jobs(count);
  double gpu_seconds = 0;
  for (TraceJob& job : jobs) {
    job.cluster = cluster;
    job.gpus = draw_gpus(random, std::min(options.max_gpus, static_cast<int32_t>(options.nodes) * options.gpus_per_node));
    job.duration = Duration::seconds(draw_duration_s(random));
    if (options.users > 0) {
      // The product of two draws: few users submit much.
      const auto users = static_cast<double>(options.users);
      const auto user = static_cast<uint32_t>(users * random.uniform() * random.uniform());
      job.user = cluster * static_cast<uint32_t>(options.users) + user;
    }
    gpu_seconds += job.duration.to_seconds() * job.gpus;
  }
  const double span_s = gpu_seconds / (options.load * static_cast<double>(options.nodes * options.gpus_per_node));
  const std::vector<int64_t> arrivals = draw_arrivals(random, count, span_s);
  for (size_t j = 0; j < count; ++j)
    jobs[j].submitted = Instant::from_seconds(kStartS + arrivals[j]);
  trace.jobs.insert(trace.jobs.end(), jobs.begin(), jobs.end());
}

}  // namespace

JobTrace make_job_trace(const JobTraceOptions& options) {
  JobTrace trace;
  const Prng random(options.seed);
  for (int64_t c = 0; c < options.clusters; ++c) {
    trace.clusters.push_back(fmt::format("c{}", c));
    for (int64_t u = 0; u < options.users; ++u)
      trace.users.push_back(fmt::format("c{}-u{}", c, u));
    const int64_t count = options.jobs / options.clusters + (c < options.jobs % options.clusters ? 1 : 0);
    add_cluster(trace, static_cast<uint32_t>(c), static_cast<size_t>(count), random.fork(static_cast<uint64_t>(c)), options);
  }
  std::stable_sort(trace.jobs.begin(), trace.jobs.end(),
                   [](const TraceJob& a, const TraceJob& b) { return a.submitted < b.submitted; });
  return trace;
}

}  // namespace stint::sim
