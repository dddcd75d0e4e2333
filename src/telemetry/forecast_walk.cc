#include "telemetry/forecast_walk.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace stint {
namespace {

constexpr double kForgetErrors = 0.96;  // of a method's errors, per origin
constexpr double kChoosiness = 8;       // weights go with 1 / error to this power

}  // namespace

size_t distance_class(size_t ahead) { return static_cast<size_t>(std::bit_width(ahead)) - 1; }

ForecastWalk::ForecastWalk(const DemandSeries& series, size_t horizon)
    : values_(series.values), horizon_(horizon), seasons_(seasons_of(series.step)), experience_(distance_class(horizon) + 1) {}

Said ForecastWalk::say(size_t origin) const {
  const ForecastPast past{values_.first(origin), seasons_};
  Said said;
  said.origin = origin;
  said.roughness = roughness(origin);
  said.never_negative = std::none_of(past.values.begin(), past.values.end(), [](const auto& v) { return v && *v < 0; });
  said.methods.resize(horizon_);
  said.points.resize(horizon_);
  std::vector<double> out(horizon_);
  for (size_t m = 0; m < kForecastMethodCount; ++m) {
    forecast_with(static_cast<ForecastMethod>(m), past, out);
    for (size_t h = 0; h < horizon_; ++h)
      said.methods[h][m] = said.never_negative ? std::max(0.0, out[h]) : out[h];
  }
  for (size_t c = 0; c < experience_.size(); ++c)
    combine(c, said);
  return said;
}

void ForecastWalk::learn(size_t known) {
  for (Said& said : waiting_) {
    while (said.learned < horizon_) {
      const size_t last = std::min(horizon_, last_of_class(distance_class(said.learned + 1)));
      if (said.origin + last > known) break;
      learn(said, said.learned + 1, last);
      said.learned = last;
    }
  }
  while (!waiting_.empty() && waiting_.front().learned == horizon_)
    waiting_.pop_front();
}

MethodValues ForecastWalk::Experience::weights() const {
  MethodValues out{};
  if (weight == 0) {
    out[static_cast<size_t>(ForecastMethod::kProfile)] = 1;
    return out;
  }
  const double best = *std::min_element(errors.begin(), errors.end());
  double sum = 0;
  for (size_t m = 0; m < errors.size(); ++m)
    sum += out[m] = errors[m] > 0 ? std::pow(best / errors[m], kChoosiness) : 1;
  for (double& w : out)
    w /= sum;
  return out;
}

/// The class itself, or the nearest shorter one that anything is known of.
size_t ForecastWalk::usable(size_t distance) const {
  while (distance > 0 && experience_[distance].weight == 0)
    --distance;
  return distance;
}

void ForecastWalk::combine(size_t distance, Said& said) const {
  const MethodValues weights = experience_[usable(distance)].weights();
  const double least = said.never_negative ? 0 : -HUGE_VAL;
  size_t trusted = distance;
  while (trusted > 0 && !experience_[trusted].pool.trusted())
    --trusted;
  const ErrorPool& pool = experience_[trusted].pool;
  // Errors of a sum of independent surprises grow with the root of their number.
  const double stretch = std::sqrt(std::exp2(static_cast<double>(distance - trusted)));
  const ErrorPool::Tails tails = pool.tails(said.roughness);
  for (size_t ahead = size_t{1} << distance; ahead <= std::min(horizon_, last_of_class(distance)); ++ahead) {
    double expected = 0;
    for (size_t m = 0; m < kForecastMethodCount; ++m)
      expected += weights[m] * said.methods[ahead - 1][m];
    ForecastPoint& p = said.points[ahead - 1];
    p.expected = expected;
    p.p5 = std::clamp(expected + stretch * tails.p5, std::min(least, expected), expected);
    p.p10 = std::clamp(expected + stretch * tails.p10, p.p5, expected);
    p.p95 = std::max(expected, expected + stretch * tails.p95);
    p.p90 = std::clamp(expected + stretch * tails.p90, expected, p.p95);
    p.tested = trusted == distance && pool.trusted();
  }
}

void ForecastWalk::learn(const Said& said, size_t first, size_t last) {
  Experience& experience = experience_[distance_class(first)];
  MethodValues errors{};
  double count = 0;
  ErrorPool::Batch batch;
  batch.roughness = said.roughness;
  for (size_t ahead = first; ahead <= last; ++ahead) {
    const auto& actual = values_[said.origin + ahead - 1];
    if (!actual) continue;
    count += 1;
    for (size_t m = 0; m < kForecastMethodCount; ++m)
      errors[m] += std::abs(said.methods[ahead - 1][m] - *actual);
    const ForecastPoint& p = said.points[ahead - 1];
    batch.errors.push_back(*actual - p.expected);
    batch.below += *actual < p.p5 ? 1 : 0;
    batch.above += *actual > p.p95 ? 1 : 0;
  }
  if (count == 0) return;
  batch.below /= count;
  batch.above /= count;
  // Before a distance has any experience its intervals were no claim: they teach the tails nothing.
  if (!experience.pool.trusted()) batch.below = batch.above = ErrorPool::kTail;
  experience.pool.learn(batch);
  const double old = experience.weight * kForgetErrors;
  experience.weight = old + 1;
  for (size_t m = 0; m < kForecastMethodCount; ++m)
    experience.errors[m] = (experience.errors[m] * old + errors[m] / count) / experience.weight;
}

/// How much the demand moves from step to step lately, never far below its long-run mean; > 0.
double ForecastWalk::roughness(size_t origin) const {
  constexpr double kRecent = 0.05;
  constexpr double kLongRunShare = 0.3;
  double recent = 0;
  double sum = 0;
  double count = 0;
  std::optional<double> before;
  for (const auto& value : values_.first(origin)) {
    if (!value) continue;
    if (before) {
      count += 1;
      sum += std::abs(*value - *before);
      recent += std::max(kRecent, 1 / count) * (std::abs(*value - *before) - recent);
    }
    before = value;
  }
  const double long_run = count > 0 ? sum / count : 0;
  const double rough = kLongRunShare * long_run + (1 - kLongRunShare) * recent;
  return rough > 0 ? rough : 1;
}

}  // namespace stint
