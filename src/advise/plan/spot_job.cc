#include "advise/plan/spot_job.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"

namespace stint {
namespace {

constexpr int64_t kMostSegments = 20'000;

int64_t segments_of(double work_h, double interval_h) {
  return std::clamp<int64_t>(static_cast<int64_t>(std::ceil(work_h / interval_h - 1e-9)), 1, kMostSegments);
}

/// One life of the instance, its ends in segments.
struct Life {
  std::vector<double> completes;  ///< [k]: chance that exactly k segments are done when it is lost
  std::vector<double> lasts;      ///< [k]: chance to last until k segments are done
  std::vector<double> hours;      ///< [k]: mean hours paid, were it stopped after k segments
};

Life life_of(const SpotJob& job, const SpotHazard& hazard, int64_t segments) {
  const double segment_h = job.work_h / static_cast<double>(segments) + job.checkpoint_h;
  const auto n = static_cast<size_t>(segments);
  Life life{std::vector<double>(n + 1), std::vector<double>(n + 1), std::vector<double>(n + 1)};
  double until = job.restart_h;
  life.lasts[0] = hazard.survival(until);
  life.hours[0] = hazard.hours_within(0, until);
  for (size_t k = 1; k <= n; ++k) {
    life.hours[k] = life.hours[k - 1] + hazard.hours_within(until, until + segment_h);
    until = job.restart_h + static_cast<double>(k) * segment_h;
    life.lasts[k] = hazard.survival(until);
    life.completes[k - 1] = (k == 1 ? 1 : life.lasts[k - 1]) - life.lasts[k];
  }
  return life;
}

/// A job whose segments are `segments`. With V(m) for m segments left and p(k) for k done in a life:
/// V(m) = paid(m) + p(0)·V(m) + Σ_{k=1}^{m−1} p(k)·V(m−k), where a life is stopped once all m are done.
std::optional<double> paid_with(const SpotJob& job, const SpotHazard& hazard, int64_t segments) {
  const Life life = life_of(job, hazard, segments);
  const double nothing = life.completes[0];
  if (nothing > 1 - 1e-9) return std::nullopt;
  const auto n = static_cast<size_t>(segments);
  std::vector<double> left(n + 1, 0);
  for (size_t m = 1; m <= n; ++m) {
    double sum = life.hours[m];
    for (size_t k = 1; k < m; ++k)
      sum += life.completes[k] * left[m - k];
    left[m] = sum / (1 - nothing);
  }
  return left[n];
}

}  // namespace

Status SpotJob::check() const {
  if (!(work_h > 0 && work_h <= 1e5)) return invalid("{} h of work: expected more than 0 and at most 100,000", work_h);
  for (const double h : {checkpoint_h, restart_h, mean_wait_h})
    if (!(h >= 0 && h <= 1e5)) return invalid("{} h to checkpoint, restart or wait: expected 0 to 100,000", h);
  return {};
}

std::optional<double> expected_paid_h(const SpotJob& job, const SpotHazard& hazard, double interval_h) {
  CHECK(interval_h > 0, "an interval of {} h", interval_h);
  return paid_with(job, hazard, segments_of(job.work_h, interval_h));
}

std::optional<double> best_interval_h(const SpotJob& job, const SpotHazard& hazard) {
  // Coarse steps of a sixteenth around the whole range, then every number between the best's neighbours.
  constexpr int64_t kMost = 2'000;
  int64_t best = 0;
  double least = 0;
  const auto consider = [&](int64_t segments) {
    const std::optional<double> paid = paid_with(job, hazard, segments);
    if (!paid || (best > 0 && *paid >= least)) return;
    best = segments;
    least = *paid;
  };
  for (int64_t s = 1; s <= kMost; s += 1 + s / 8)
    consider(s);
  if (best == 0) return std::nullopt;
  const int64_t around = best;
  const int64_t reach = 1 + around / 8;
  for (int64_t s = std::max<int64_t>(1, around - reach); s <= around + reach; s += 1 + reach / 16)
    consider(s);
  return job.work_h / static_cast<double>(best);
}

Result<SpotOutlook> spot_outlook(const SpotJob& job, const SpotHazard& hazard, double interval_h,
                                 const std::optional<InterruptionRate>& rate, uint64_t seed, int trials) {
  constexpr int kMostLives = 1'000'000;
  CHECK(interval_h > 0 && trials > 0, "an interval of {} h, {} trials", interval_h, trials);
  TRY(job.check());
  const int64_t segments = segments_of(job.work_h, interval_h);
  const double segment_h = job.work_h / static_cast<double>(segments) + job.checkpoint_h;
  const double mean_life_h = hazard.mean_h();
  Prng prng(seed);
  SpotOutlook out;
  std::vector<double> paid(static_cast<size_t>(trials));
  std::vector<double> finish(static_cast<size_t>(trials));
  int64_t lost = 0;
  for (size_t t = 0; t < paid.size(); ++t) {
    const double stretch = rate ? 1 / (rate->draw(prng) * mean_life_h) : 1;
    int64_t left = segments;
    double waited = 0;
    for (int lives = 0;; ++lives) {
      if (lives == kMostLives)
        return invalid("the job does not end: {} instances were lost before {} segments were done", lives, segments);
      const double life_h = hazard.draw_h(prng) * stretch;
      const double needed_h = job.restart_h + static_cast<double>(left) * segment_h;
      if (life_h >= needed_h) {
        paid[t] += needed_h;
        break;
      }
      paid[t] += life_h;
      left -= std::max<int64_t>(0, static_cast<int64_t>((life_h - job.restart_h) / segment_h));
      waited -= job.mean_wait_h * std::log(1 - prng.uniform());
      ++lost;
    }
    finish[t] = paid[t] + waited;
    out.paid_h += paid[t] / trials;
    out.finish_h += finish[t] / trials;
  }
  const auto at = static_cast<std::ptrdiff_t>(std::min(paid.size() - 1, paid.size() * 9 / 10));
  std::nth_element(paid.begin(), paid.begin() + at, paid.end());
  std::nth_element(finish.begin(), finish.begin() + at, finish.end());
  out.paid_h_p90 = paid[static_cast<size_t>(at)];
  out.finish_h_p90 = finish[static_cast<size_t>(at)];
  out.interruptions = static_cast<double>(lost) / trials;
  return out;
}

double break_even_discount(double work_h, double stretch, double spot_start_h, double on_demand_start_h) {
  return 1 - (work_h + on_demand_start_h) / (work_h * stretch + spot_start_h);
}

}  // namespace stint
