// Forecast: what a demand will be, how sure that is, and how wrong the same procedure would have been before.
//
// The forecaster walks through the past as if it lived it. Every few steps it lets each plain method (telemetry/forecast_methods.h)
// say the coming steps, combines them, and later learns what came: the methods' weights and the intervals at a distance (1 step,
// 2–3, 4–7, …) follow the errors made at that distance so far (Bates and Granger 1969 for the weights; conformal prediction with
// the adaptive tails of Gibbs and Candès 2021 for the intervals). The forecast of the future is the walk's last step. So its
// reported error is that of the whole procedure, intervals included, and nothing in it has seen what it was to predict.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "telemetry/demand_series.h"
#include "telemetry/forecast_methods.h"

namespace stint {

/// Something that will happen, and that the past cannot know: a new client, a retraining, a cap.
struct KnownChange {
  Instant from;
  std::optional<Instant> until;  ///< none: for good
  double factor = 1;             ///< first this, then
  double plus = 0;               ///< this, in the series' unit
  std::string note;
};

struct ForecastOptions {
  size_t horizon = 168;  ///< steps, 1 … kMaxForecastSteps
  std::vector<KnownChange> changes;
};
inline constexpr size_t kMaxForecastSteps = 2'400;
inline constexpr size_t kFewestForecastValues = 24;

struct ForecastPoint {
  double expected = 0;
  double p5 = 0, p10 = 0, p90 = 0, p95 = 0;  ///< p5 ≤ p10 ≤ expected ≤ p90 ≤ p95; p5 to p95 is the 90 % interval
  bool tested = false;  ///< false: the past is too short to have tried this distance; the interval is extrapolated
};

/// Errors made in the past, over all origins and distances that could be compared.
struct ForecastScore {
  size_t origins = 0;
  size_t compared = 0;    ///< values; 0: the past is too short to tell, and the rest means nothing
  double mean_error = 0;  ///< absolute, in the series' unit
  double mase = 0;  ///< mean_error over what seasonal-naive errs one season ahead in the past before (Hyndman and Koehler 2006)
  double naive_mase = 0;
  double seasonal_naive_mase = 0;
  double coverage_90 = 0;  ///< share of values within p5 … p95
  std::array<double, kForecastMethodCount> method_mase{};
};

/// One distance class: steps [first, last] ahead.
struct ForecastDistance {
  size_t first = 1;
  size_t last = 1;
  ForecastScore score;
  std::array<double, kForecastMethodCount> weights{};  ///< of the methods in the forecast; sum 1
};

/// A forecast of the walk and what came.
struct BacktestValue {
  size_t origin = 0;  ///< steps known when it was made
  size_t ahead = 1;   ///< of value origin + ahead − 1
  ForecastPoint point;
  double actual = 0;
};

struct Forecast {
  Instant begin;  ///< of the first coming step
  Duration step = kHour;
  std::vector<ForecastPoint> points;
  size_t season = 1;  ///< steps; that of the seasonal-naive it is compared with. 1: no season fits twice, then it is naive
  size_t known = 0;   ///< values that were not missing
  ForecastScore score;
  std::vector<ForecastDistance> distances;  ///< ascending
  std::vector<BacktestValue> backtest;      ///< ascending by origin, then distance; those the score is made of
};

/// Deterministic. @return error when fewer than kFewestForecastValues are known, an option is out of range, or a change begins
/// before the series ends (then it is in the past already) or ends before it begins.
Result<Forecast> forecast(const DemandSeries& series, const ForecastOptions& options);

}  // namespace stint
