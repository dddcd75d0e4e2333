#include "telemetry/forecast_methods.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/check.h"
#include "telemetry/season_profile.h"

namespace stint {
namespace {

using KnownValues = std::span<const std::optional<double>>;

constexpr double kFast = 0.3;
constexpr double kMedium = 0.1;
constexpr double kSlow = 0.02;
constexpr double kCycleDecay = 0.75;  // of a phase's mean, per cycle back
constexpr double kTrendFade = 0.97;   // per step

double last_known(KnownValues values) {
  for (size_t i = values.size(); i-- > 0;)
    if (values[i]) return *values[i];
  CHECK(false, "a forecast needs at least one known value");
  return 0;
}

double smoothed(KnownValues values, double weight) {
  std::optional<double> level;
  double seen = 0;  // counts up to 1 / weight, so that the first values are averaged and not believed
  for (const auto& value : values) {
    if (!value) continue;
    seen += 1;
    level = level ? *level + std::max(weight, 1 / seen) * (*value - *level) : *value;
  }
  return level.value_or(0);
}

void damped_trend(KnownValues values, std::span<double> out) {
  constexpr double kTrendWeight = 0.05;
  std::optional<double> level;
  double trend = 0;
  for (const auto& value : values) {
    if (!level) {
      level = value;
      continue;
    }
    const double expected = *level + kTrendFade * trend;
    const double error = value ? *value - expected : 0;
    level = expected + kFast * error;
    trend = kTrendFade * trend + kTrendWeight * error;
  }
  double value = level.value_or(0);
  for (double& o : out) {
    trend *= kTrendFade;
    o = value += trend;
  }
}

void phase_mean(KnownValues values, size_t season, std::span<double> out) {
  std::vector<double> sum(season, 0);
  std::vector<double> weight(season, 0);
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t phase = i % season;
    sum[phase] *= kCycleDecay;
    weight[phase] *= kCycleDecay;
    if (!values[i]) continue;
    sum[phase] += *values[i];
    weight[phase] += 1;
  }
  const double fallback = last_known(values);
  for (size_t h = 0; h < out.size(); ++h) {
    const size_t phase = (values.size() + h) % season;
    out[h] = weight[phase] > 0 ? sum[phase] / weight[phase] : fallback;
  }
}

/// The longest season the past holds `cycles` times; 1 when it holds none.
size_t longest_season(const ForecastPast& past, size_t cycles) {
  size_t longest = 1;
  for (const size_t season : past.seasons)
    if (season * cycles <= past.values.size()) longest = season;
  return longest;
}

}  // namespace

std::string_view name_of(ForecastMethod method) {
  switch (method) {
    case ForecastMethod::kNaive: return "naive";
    case ForecastMethod::kSeasonalNaiveShort: return "seasonal-naive, shortest season";
    case ForecastMethod::kSeasonalNaiveLong: return "seasonal-naive, longest season";
    case ForecastMethod::kPhaseMean: return "mean of the phase";
    case ForecastMethod::kSmoothFast: return "smoothing, fast";
    case ForecastMethod::kSmoothMedium: return "smoothing, medium";
    case ForecastMethod::kSmoothSlow: return "smoothing, slow";
    case ForecastMethod::kDampedTrend: return "damped trend";
    case ForecastMethod::kProfile: return "season profile";
    case ForecastMethod::kProfileLog: return "season profile, by factors";
    case ForecastMethod::kProfileTrend: return "season profile with trend";
    case ForecastMethod::kProfileLongest: return "profile of the longest season";
  }
  return "";
}

void seasonal_naive(std::span<const std::optional<double>> past, size_t season, std::span<double> out) {
  const double fallback = last_known(past);
  const size_t n = past.size();
  for (size_t h = 0; h < out.size(); ++h) {
    out[h] = fallback;
    if (h >= season) {
      out[h] = out[h - season];
      continue;
    }
    for (size_t back = season; back <= n + h; back += season) {
      if (!past[n + h - back]) continue;
      out[h] = *past[n + h - back];
      break;
    }
  }
}

void forecast_with(ForecastMethod method, const ForecastPast& past, std::span<double> out) {
  const auto constant = [&](double value) { std::fill(out.begin(), out.end(), value); };
  switch (method) {
    case ForecastMethod::kNaive: return constant(last_known(past.values));
    case ForecastMethod::kSeasonalNaiveShort:
      return seasonal_naive(past.values, past.seasons.empty() ? 1 : past.seasons.front(), out);
    case ForecastMethod::kSeasonalNaiveLong: return seasonal_naive(past.values, longest_season(past, 1), out);
    case ForecastMethod::kPhaseMean: return phase_mean(past.values, longest_season(past, 2), out);
    case ForecastMethod::kSmoothFast: return constant(smoothed(past.values, kFast));
    case ForecastMethod::kSmoothMedium: return constant(smoothed(past.values, kMedium));
    case ForecastMethod::kSmoothSlow: return constant(smoothed(past.values, kSlow));
    case ForecastMethod::kDampedTrend: return damped_trend(past.values, out);
    case ForecastMethod::kProfile: return season_profile(past, {}, out);
    case ForecastMethod::kProfileLog: return season_profile(past, {.by_factors = true}, out);
    case ForecastMethod::kProfileTrend: return season_profile(past, {.trend = true}, out);
    case ForecastMethod::kProfileLongest: return season_profile(past, {.longest_only = true}, out);
  }
}

std::vector<size_t> seasons_of(Duration step) {
  constexpr int64_t kFewest = 6;
  std::vector<size_t> seasons;
  for (const Duration period : {Duration::minutes(1), kHour, kHour * 24, kHour * 168})
    if (period.count_ns() % step.count_ns() == 0 && period.count_ns() / step.count_ns() >= kFewest)
      seasons.push_back(static_cast<size_t>(period.count_ns() / step.count_ns()));
  return seasons;
}

}  // namespace stint
