#include "telemetry/season_profile.h"

#include <algorithm>
#include <cmath>

namespace stint {
namespace {

using Values = std::vector<std::optional<double>>;

constexpr double kHalfLifeCycles = 4;  // of what the longest season's cycles say about effects
constexpr double kMostDoubt = 100;     // cycles
constexpr double kTrendCycles = 8;     // the trend is taken over this many cycles of the longest season
constexpr double kTrendHalfLife = 8;   // and fades over as many
constexpr double kMaxPersistence = 0.995;

/// The mean over one whole period around each step (at the ends the first and last whole period), known values only.
std::vector<double> moving_level(const Values& values, size_t period) {
  const size_t n = values.size();
  std::vector<double> sums(n + 1, 0);
  std::vector<double> counts(n + 1, 0);
  for (size_t i = 0; i < n; ++i) {
    sums[i + 1] = sums[i] + values[i].value_or(0);
    counts[i + 1] = counts[i] + (values[i] ? 1 : 0);
  }
  std::vector<double> level(n, 0);
  double last = counts[n] > 0 ? sums[n] / counts[n] : 0;
  for (size_t i = 0; i < n; ++i) {
    const size_t begin = std::min(i - std::min(i, period / 2), n - std::min(n, period));
    const size_t end = std::min(n, begin + period);
    const double count = counts[end] - counts[begin];
    if (count > 0) last = (sums[end] - sums[begin]) / count;
    level[i] = last;
  }
  return level;
}

/// Takes the mean of each phase out of `rest` and returns it; younger cycles count more. A mean of few cycles is believed as far
/// as phases differ by more than noise explains (empirical Bayes: n / (n + within / between) of it).
std::vector<double> take_effects(Values& rest, size_t season, double half_life, double most_doubt) {
  std::vector<double> sum(season, 0);
  std::vector<double> square(season, 0);
  std::vector<double> weight(season, 0);
  const size_t n = rest.size();
  const double decay = std::exp2(-static_cast<double>(season) / half_life);
  double w = 1;
  for (size_t i = n, in_cycle = 0; i-- > 0;) {
    if (rest[i]) {
      sum[i % season] += w * *rest[i];
      square[i % season] += w * *rest[i] * *rest[i];
      weight[i % season] += w;
    }
    if (++in_cycle == season) {
      in_cycle = 0;
      w *= decay;
    }
  }
  double within = 0, between = 0, all = 0, spare = 0, phases = 0;
  for (size_t p = 0; p < season; ++p) {
    if (weight[p] == 0) continue;
    const double mean = sum[p] / weight[p];
    within += square[p] - mean * sum[p];
    between += mean * mean;
    all += weight[p];
    spare += std::max(0.0, weight[p] - 1);
    phases += 1;
  }
  within = spare > 0 ? within / spare : 0;
  between = phases > 0 ? std::max(0.0, between / phases - within * phases / all) : 0;
  const double doubt = within == 0 ? 0 : std::min(most_doubt, within / std::max(between, within / kMostDoubt));
  for (size_t p = 0; p < season; ++p)
    sum[p] = weight[p] > 0 ? sum[p] / (weight[p] + doubt) : 0;
  for (size_t i = 0; i < n; ++i)
    if (rest[i]) *rest[i] -= sum[i % season];
  return sum;
}

/// What is left without season effects: a slow level and how long a deviation from it lasts.
struct Rest {
  double level = 0;
  double deviation = 0;    ///< now
  double persistence = 0;  ///< share of a deviation that is left a step later, 0 … kMaxPersistence
};

Rest follow(const Values& values, double weight) {
  Rest rest;
  std::optional<double> level;
  double before = 0;
  bool follows = false;  // the value before was known
  double seen = 0;
  double product = 0;
  double square = 0;
  for (const auto& value : values) {
    if (!value) {
      follows = false;
      continue;
    }
    if (!level) level = value;
    const double deviation = *value - *level;
    const double forget = 1 - weight / 2;
    if (follows) {
      product = product * forget + before * deviation;
      square = square * forget + before * before;
    }
    before = rest.deviation = deviation;
    follows = true;
    seen += 1;
    *level += std::max(weight, 1 / (1 + seen)) * deviation;
  }
  rest.level = level.value_or(0);
  rest.persistence = square > 0 ? std::clamp(product / square, 0.0, kMaxPersistence) : 0;
  // The level has moved towards the last value; what is left of the deviation counts from there.
  rest.deviation *= 1 - weight;
  return rest;
}

/// Per step: the median slope between the means of whole cycles, the last ones only.
double robust_slope(const Values& values, size_t cycle) {
  std::vector<std::optional<double>> means;  // youngest first
  for (size_t end = values.size(); end >= cycle && means.size() < static_cast<size_t>(kTrendCycles); end -= cycle) {
    double sum = 0;
    double count = 0;
    for (size_t i = end - cycle; i < end; ++i) {
      sum += values[i].value_or(0);
      count += values[i] ? 1 : 0;
    }
    means.push_back(count * 2 >= static_cast<double>(cycle) ? std::optional(sum / count) : std::nullopt);
  }
  std::vector<double> slopes;
  for (size_t young = 0; young < means.size(); ++young)
    for (size_t old = young + 1; old < means.size(); ++old)
      if (means[young] && means[old])
        slopes.push_back((*means[young] - *means[old]) / static_cast<double>((old - young) * cycle));
  if (slopes.size() < 3) return 0;
  const auto middle = slopes.begin() + static_cast<std::ptrdiff_t>(slopes.size() / 2);
  std::nth_element(slopes.begin(), middle, slopes.end());
  return *middle;
}

}  // namespace

void season_profile(const ForecastPast& past, const ProfileOptions& options, std::span<double> out) {
  Values values(past.values.begin(), past.values.end());
  const bool by_factors =
      options.by_factors && std::all_of(values.begin(), values.end(), [](const auto& v) { return !v || *v > 0; });
  if (by_factors)
    for (auto& value : values)
      if (value) value = std::log(*value);

  std::vector<size_t> seasons;
  for (const size_t season : past.seasons)
    if (season * 2 <= values.size()) seasons.push_back(season);
  if (options.longest_only && seasons.size() > 1) seasons = {seasons.back()};
  const size_t longest = seasons.empty() ? 1 : seasons.back();
  const size_t shortest = seasons.empty() ? 12 : seasons.front();

  // Effects are found around the moving level, then taken out of the values themselves.
  const std::vector<double> level = moving_level(values, longest);
  Values around = values;
  for (size_t i = 0; i < around.size(); ++i)
    if (around[i]) *around[i] -= level[i];
  std::vector<std::vector<double>> effects;
  for (const size_t season : seasons)
    effects.push_back(
        take_effects(around, season, kHalfLifeCycles * static_cast<double>(longest), options.longest_only ? 0 : kMostDoubt));
  const auto effect_at = [&](size_t i) {
    double sum = 0;
    for (size_t s = 0; s < seasons.size(); ++s)
      sum += effects[s][i % seasons[s]];
    return sum;
  };
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i]) *values[i] -= effect_at(i);

  const double per_step = options.trend ? robust_slope(values, longest == 1 ? shortest : longest) : 0;
  const Rest rest = follow(values, 1 - std::exp2(-1 / (2 * static_cast<double>(shortest))));
  const double fade = std::exp2(-1 / (kTrendHalfLife * static_cast<double>(longest == 1 ? shortest : longest)));
  double deviation = rest.deviation;
  double trend = 0;
  double slope = per_step;
  for (size_t h = 0; h < out.size(); ++h) {
    deviation *= rest.persistence;
    trend += slope;
    slope *= fade;
    const double value = rest.level + deviation + trend + effect_at(values.size() + h);
    out[h] = by_factors ? std::exp(value) : value;
  }
}

}  // namespace stint
