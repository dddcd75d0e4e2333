#include "advise/prove/proof_weeks.h"

#include <algorithm>
#include <cmath>

#include "advise/thresholds.h"
#include "base/check.h"
#include "base/prng.h"

namespace stint {
namespace {

constexpr Duration kHalfAWeek = Duration::hours(84);

/// WeekSums over the jobs of one block.
struct WeekSums {
  double jobs = 0;
  double waiting_s = 0;
  double completion_s = 0;
  double work_done = 0;
  double lost = 0;
  double unfinished = 0;
  double paid = 0;
  double hours = 0;

  void add(const WeekSums& o) {
    jobs += o.jobs;
    waiting_s += o.waiting_s;
    completion_s += o.completion_s;
    work_done += o.work_done;
    lost += o.lost;
    unfinished += o.unfinished;
    paid += o.paid;
    hours += o.hours;
  }
};

std::vector<WeekSums> sums_of(const ProofGround& ground, const ReplayTally& tally, std::span<const uint8_t> only) {
  std::vector<WeekSums> sums(ground.marks.size() - 1);
  for (size_t b = 0; b < sums.size(); ++b) {
    sums[b].paid = tally.paid[b];
    sums[b].hours = (ground.marks[b + 1] - ground.marks[b]).to_hours();
  }
  for (size_t j = 0; j < tally.jobs.size(); ++j) {
    if (!only.empty() && only[j] == 0) continue;
    const ReplayTally::Job& job = tally.jobs[j];
    WeekSums& of = sums[ground.block_of[j]];
    of.jobs += 1;
    of.waiting_s += static_cast<double>(job.waiting_s);
    of.completion_s += static_cast<double>(job.completion_s);
    of.lost += static_cast<double>(job.lost_gpu_hours);
    of.work_done += job.finished ? ground.work[j] : 0;
    of.unfinished += job.finished ? 0 : 1;
  }
  return sums;
}

double part(double of, double by, double otherwise) { return by > 0 ? of / by : otherwise; }

/// The figures of one drawing of weeks and seeds.
struct WeekSample {
  double saving, waiting_s, completion_pct, throughput_pct, lost;
};

WeekSample sample_of(const WeekSums& before, const WeekSums& after, double hours) {
  const double scale = part(hours, before.hours, 1);
  return {.saving = (before.paid - after.paid) * scale,
          .waiting_s = part(after.waiting_s - before.waiting_s, before.jobs, 0),
          .completion_pct = 100 * part(after.completion_s - before.completion_s, before.completion_s, 0),
          .throughput_pct = 100 * part(after.work_done, before.work_done, 1),
          .lost = (after.lost - before.lost) * scale};
}

ProofJobs jobs_of(const ProofGround& ground, std::span<const ReplayTally> tallies, std::span<const uint8_t> only) {
  ProofJobs out;
  std::vector<float> completions;
  for (const ReplayTally& tally : tallies) {
    WeekSums all;
    for (const WeekSums& sums : sums_of(ground, tally, only))
      all.add(sums);
    out.waiting_mean_s += part(all.waiting_s, all.jobs, 0);
    out.completion_mean_s += part(all.completion_s, all.jobs, 0);
    out.lost_gpu_hours += all.lost;
    out.unfinished += all.unfinished;
    for (size_t j = 0; j < tally.jobs.size(); ++j)
      if (only.empty() || only[j] != 0) completions.push_back(tally.jobs[j].completion_s);
  }
  const auto seeds = static_cast<double>(tallies.size());
  out.waiting_mean_s /= seeds;
  out.completion_mean_s /= seeds;
  out.lost_gpu_hours /= seeds;
  out.unfinished /= seeds;
  if (completions.empty()) return out;
  const auto at = completions.begin() + static_cast<ptrdiff_t>((95 * completions.size() + 99) / 100 - 1);
  std::ranges::nth_element(completions, at);
  out.completion_p95_s = static_cast<double>(*at);
  return out;
}

}  // namespace

size_t proof_block(std::span<const Instant> marks, Instant at) {
  const auto next = std::ranges::upper_bound(marks, at) - marks.begin();
  return static_cast<size_t>(std::clamp<ptrdiff_t>(next - 1, 0, static_cast<ptrdiff_t>(marks.size()) - 2));
}

ProofFigure figure_of(double mean, std::vector<double> drawn) {
  std::ranges::sort(drawn);
  const auto rank = [&](size_t pct) { return drawn[std::max<size_t>((pct * drawn.size() + 99) / 100, 1) - 1]; };
  return {.mean = mean, .p10 = rank(10), .p90 = rank(90)};
}

std::vector<Instant> week_marks(Interval period) {
  std::vector<Instant> marks = {period.begin};
  while (marks.back() + kWeekLength + kHalfAWeek <= period.end)
    marks.push_back(marks.back() + kWeekLength);
  marks.push_back(period.end);
  return marks;
}

ReplayTally tally_of(const sim::Workload& workload, const sim::ReplayResult& result, std::span<const Instant> marks) {
  CHECK(result.paid_at_marks.size() == marks.size(), "{} of {} marks were passed", result.paid_at_marks.size(), marks.size());
  ReplayTally tally;
  tally.jobs.reserve(result.jobs.size());
  for (size_t j = 0; j < result.jobs.size(); ++j) {
    const sim::JobOutcome& outcome = result.jobs[j];
    const Instant submitted = workload.jobs[j].spec.submitted;
    const bool finished = outcome.ending == sim::JobEnding::kSucceeded || outcome.ending == sim::JobEnding::kMadeAlready;
    const Instant started = outcome.starts > 0 ? outcome.first_start : std::max(result.period.end, submitted);
    const Instant ended = finished ? outcome.ended : std::max(result.period.end, submitted);
    tally.jobs.push_back({.waiting_s = static_cast<float>((started - submitted).to_seconds()),
                          .completion_s = static_cast<float>((ended - submitted).to_seconds()),
                          .lost_gpu_hours = static_cast<float>(outcome.gpu_hours_lost),
                          .finished = finished});
  }
  for (size_t i = 1; i < marks.size(); ++i)
    tally.paid.push_back((result.paid_at_marks[i] - result.paid_at_marks[i - 1]).to_double());
  return tally;
}

ProofGround ground_of(const sim::Workload& workload, Interval period) {
  ProofGround ground{.marks = week_marks(period), .block_of = {}, .work = {}, .hours = period.length().to_hours()};
  for (const sim::SimJob& job : workload.jobs) {
    const auto block = std::ranges::upper_bound(ground.marks, job.spec.submitted) - ground.marks.begin() - 1;
    ground.block_of.push_back(
        static_cast<uint32_t>(std::clamp<ptrdiff_t>(block, 0, static_cast<ptrdiff_t>(ground.marks.size()) - 2)));
    ground.work.push_back(job.run_time.to_hours() * static_cast<double>(sim::gpu_milli_of(workload, job)) / sched::kMilli);
  }
  return ground;
}

ProofComparison compare(const ProofGround& ground, std::span<const ReplayTally> before, std::span<const ReplayTally> after,
                        std::span<const uint8_t> only, const ProofDraws& draws) {
  CHECK(!before.empty() && !after.empty(), "nothing to compare: {} and {} replays", before.size(), after.size());
  const size_t seeds = std::max(before.size(), after.size());
  std::vector<std::vector<WeekSums>> b, a;  // by seed, by block
  for (size_t s = 0; s < seeds; ++s) {
    b.push_back(sums_of(ground, before[s % before.size()], only));
    a.push_back(sums_of(ground, after[s % after.size()], only));
  }
  const size_t blocks = ground.marks.size() - 1;
  WeekSums all_before, all_after;
  for (size_t s = 0; s < seeds; ++s)
    for (size_t k = 0; k < blocks; ++k) {
      all_before.add(b[s][k]);
      all_after.add(a[s][k]);
    }
  const WeekSample mean = sample_of(all_before, all_after, ground.hours);
  std::vector<double> saving, waiting, completion, throughput, lost;
  Prng prng(draws.seed);
  for (int d = 0; d < draws.draws; ++d) {
    WeekSums drawn_before, drawn_after;
    for (size_t k = 0; k < blocks; ++k) {
      const size_t block = prng.below(blocks);
      const size_t s = prng.below(seeds);
      drawn_before.add(b[s][block]);
      drawn_after.add(a[s][block]);
    }
    const WeekSample sample = sample_of(drawn_before, drawn_after, ground.hours);
    saving.push_back(sample.saving);
    waiting.push_back(sample.waiting_s);
    completion.push_back(sample.completion_pct);
    throughput.push_back(sample.throughput_pct);
    lost.push_back(sample.lost);
  }
  return {.saving = figure_of(mean.saving, std::move(saving)),
          .waiting_s = figure_of(mean.waiting_s, std::move(waiting)),
          .completion_pct = figure_of(mean.completion_pct, std::move(completion)),
          .throughput_pct = figure_of(mean.throughput_pct, std::move(throughput)),
          .lost_gpu_hours = figure_of(mean.lost, std::move(lost)),
          .before = jobs_of(ground, before, only),
          .after = jobs_of(ground, after, only)};
}

}  // namespace stint
