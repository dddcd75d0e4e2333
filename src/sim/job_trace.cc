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

constexpr double kOfAKind = 0.75;
constexpr double kOtherSize = 0.15;  // of the jobs of a kind
constexpr double kFailsEarly = 1.0 / 12;
constexpr double kLeastSigma = 0.15;
constexpr double kMostSigma = 0.9;
constexpr double kChanges = 0.5;

/// What a user runs again and again.
struct JobKind {
  uint32_t name = 0;
  int32_t gpus = 0;
  double sigma = 0;
  int64_t typical_s = 0;
  double changes_at = 2;  // part of the trace; 2 = never
  int64_t typical_s_then = 0;
};

/// Gives jobs names, and lengths that go with them.
class Kinds {
 public:
  Kinds(JobTrace& trace, Prng random, int32_t max_gpus, int64_t per_user)
      : trace_(trace), random_(random), max_gpus_(max_gpus), per_user_(per_user) {}

  /// @param at  part of the trace that lies before the job.
  void settle(TraceJob& job, double at) {
    if (random_.uniform() < kOfAKind) {
      const JobKind& kind = kind_of(job.user);
      job.name = kind.name;
      if (random_.uniform() >= kOtherSize) job.gpus = kind.gpus;
      const auto typical = static_cast<double>(at < kind.changes_at ? kind.typical_s : kind.typical_s_then);
      const double s = typical * std::exp(kind.sigma * random_.normal());
      job.duration = Duration::seconds(std::max<int64_t>(1, std::llround(std::min(s, kLongestS))));
    } else {
      job.name = static_cast<uint32_t>(trace_.names.size());
      trace_.names.push_back(fmt::format("once-{}", letters(trace_.names.size())));
    }
    if (random_.uniform() < kFailsEarly)
      job.duration = Duration::seconds(std::max<int64_t>(1, std::llround(job.duration.to_seconds() * random_.uniform() * 0.2)));
  }

 private:
  /// Names that differ in more than their numbers.
  static std::string letters(size_t number) {
    std::string text;
    for (; number > 0 || text.empty(); number /= 26)
      text += static_cast<char>('a' + number % 26);
    return text;
  }

  const JobKind& kind_of(uint32_t user) {
    if (user >= of_user_.size()) of_user_.resize(user + size_t{1});
    std::vector<JobKind>& kinds = of_user_[user];
    while (static_cast<int64_t>(kinds.size()) < per_user_)
      kinds.push_back(make_kind(user, kinds.size()));
    // The product of two draws: few kinds are run often.
    return kinds[static_cast<size_t>(static_cast<double>(per_user_) * random_.uniform() * random_.uniform())];
  }

  JobKind make_kind(uint32_t user, size_t number) {
    JobKind kind;
    kind.name = static_cast<uint32_t>(trace_.names.size());
    trace_.names.push_back(fmt::format("{}-{}", trace_.users[user], letters(number)));
    kind.gpus = draw_gpus(random_, max_gpus_);
    kind.sigma = kLeastSigma + (kMostSigma - kLeastSigma) * random_.uniform();
    kind.typical_s = draw_duration_s(random_);
    if (random_.uniform() < kChanges) {
      kind.changes_at = random_.uniform();
      kind.typical_s_then = draw_duration_s(random_);
    }
    return kind;
  }

  JobTrace& trace_;
  Prng random_;
  int32_t max_gpus_;
  int64_t per_user_;
  std::vector<std::vector<JobKind>> of_user_;
};

void add_cluster(JobTrace& trace, uint32_t cluster, size_t count, Prng random, const JobTraceOptions& options) {
  std::vector<TraceJob> jobs(count);
  const int32_t max_gpus = std::min(options.max_gpus, static_cast<int32_t>(options.nodes) * options.gpus_per_node);
  Kinds kinds(trace, random.fork(1), max_gpus, options.kinds);
  double gpu_seconds = 0;
  for (TraceJob& job : jobs) {
    job.cluster = cluster;
    job.gpus = draw_gpus(random, max_gpus);
    job.duration = Duration::seconds(draw_duration_s(random));
    if (options.users > 0) {
      // The product of two draws: few users submit much.
      const auto users = static_cast<double>(options.users);
      const auto user = static_cast<uint32_t>(users * random.uniform() * random.uniform());
      job.user = cluster * static_cast<uint32_t>(options.users) + user;
    }
    if (options.kinds > 0)
      kinds.settle(job, static_cast<double>(&job - jobs.data()) / static_cast<double>(std::max<size_t>(count, 1)));
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
