#include "telemetry/forecast_score.h"

#include <algorithm>
#include <cmath>

namespace stint {

ForecastScores::ForecastScores(const DemandSeries& series, size_t season, size_t distances)
    : values_(series.values), season_(season), by_distance_(distances) {}

void ForecastScores::add(const Said& said, std::vector<BacktestValue>& backtest) {
  const std::optional<double> scale = scale_up_to(said.origin);
  if (!scale) return;
  const size_t horizon = std::min(said.points.size(), values_.size() - said.origin);
  std::vector<double> seasonal(horizon);
  seasonal_naive(values_.first(said.origin), season_, seasonal);
  std::vector<bool> met(by_distance_.size(), false);
  for (size_t h = 0; h < horizon; ++h) {
    const auto& actual = values_[said.origin + h];
    if (!actual) continue;
    const size_t distance = distance_class(h + 1);
    total_.count(said, h, *actual, seasonal[h], *scale);
    by_distance_[distance].count(said, h, *actual, seasonal[h], *scale);
    met[distance] = true;
    backtest.push_back({said.origin, h + 1, said.points[h], *actual});
  }
  total_.origins += 1;
  for (size_t d = 0; d < met.size(); ++d)
    if (met[d]) by_distance_[d].origins += 1;
}

/// Mean absolute error of seasonal-naive one season ahead within the past; none while there is none.
std::optional<double> ForecastScores::scale_up_to(size_t known) {
  for (; scaled_ < known; ++scaled_) {
    if (scaled_ < season_ || !values_[scaled_] || !values_[scaled_ - season_]) continue;
    scale_sum_ += std::abs(*values_[scaled_] - *values_[scaled_ - season_]);
    size_sum_ += std::abs(*values_[scaled_]);
    scale_count_ += 1;
  }
  // What rounding alone makes of a constant is no error to measure others by.
  constexpr double kRounding = 1e-9;
  return scale_sum_ > kRounding * size_sum_ ? std::optional(scale_sum_ / scale_count_) : std::nullopt;
}

void ForecastScores::Tally::count(const Said& said, size_t h, double actual, double seasonal_naive, double scale) {
  const ForecastPoint& p = said.points[h];
  compared += 1;
  inside += p.p5 <= actual && actual <= p.p95 ? size_t{1} : size_t{0};
  error += std::abs(actual - p.expected);
  scaled += std::abs(actual - p.expected) / scale;
  seasonal += std::abs(actual - seasonal_naive) / scale;
  naive += std::abs(actual - said.methods[h][static_cast<size_t>(ForecastMethod::kNaive)]) / scale;
  for (size_t m = 0; m < kForecastMethodCount; ++m)
    methods[m] += std::abs(actual - said.methods[h][m]) / scale;
}

ForecastScore ForecastScores::Tally::score() const {
  ForecastScore out;
  out.origins = origins;
  out.compared = compared;
  if (compared == 0) return out;
  const auto n = static_cast<double>(compared);
  out.mean_error = error / n;
  out.mase = scaled / n;
  out.naive_mase = naive / n;
  out.seasonal_naive_mase = seasonal / n;
  out.coverage_90 = static_cast<double>(inside) / n;
  for (size_t m = 0; m < methods.size(); ++m)
    out.method_mase[m] = methods[m] / n;
  return out;
}

}  // namespace stint
