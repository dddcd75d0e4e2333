#include "telemetry/forecast.h"

#include <algorithm>
#include <cmath>

#include "telemetry/forecast_score.h"
#include "telemetry/forecast_walk.h"

namespace stint {
namespace {

constexpr size_t kMostStepsBetweenOrigins = 24;
constexpr size_t kFirstOrigin = 12;  // known steps before the walk begins

/// The longest season that fits twice.
size_t season_of(const DemandSeries& series) {
  size_t season = 1;
  for (const size_t s : seasons_of(series.step))
    if (s * 2 <= series.values.size()) season = s;
  return season;
}

Status check(const DemandSeries& series, const ForecastOptions& options, size_t known) {
  if (options.horizon == 0 || options.horizon > kMaxForecastSteps)
    return invalid("a forecast of {} steps; from 1 to {} are possible", options.horizon, kMaxForecastSteps);
  if (known < kFewestForecastValues)
    return invalid("{}: {} known values are too few for a forecast; {} are the least", series.name, known, kFewestForecastValues);
  for (const KnownChange& change : options.changes) {
    if (change.from < series.end())
      return invalid("the known change `{}` begins {}, before the history ends ({}): it is in the past already", change.note,
                     format_utc(change.from), format_utc(series.end()));
    if (!(change.factor >= 0))
      return invalid("the known change `{}` has the factor {}; expected 0 or more", change.note, change.factor);
    if (change.until && *change.until <= change.from)
      return invalid("the known change `{}` ends {}, not after it begins ({})", change.note, format_utc(*change.until),
                     format_utc(change.from));
  }
  return {};
}

void apply_changes(std::span<const KnownChange> changes, double least, Forecast& forecast) {
  for (size_t i = 0; i < forecast.points.size(); ++i) {
    const Instant at = forecast.begin + forecast.step * static_cast<int64_t>(i);
    ForecastPoint& p = forecast.points[i];
    for (const KnownChange& change : changes)
      if (change.from <= at && (!change.until || at < *change.until))
        for (double* value : {&p.expected, &p.p5, &p.p10, &p.p90, &p.p95})
          *value = std::max(least, *value * change.factor + change.plus);
  }
}

}  // namespace

Result<Forecast> forecast(const DemandSeries& series, const ForecastOptions& options) {
  Forecast out;
  const size_t size = series.values.size();
  size_t first_known = size;
  for (size_t i = size; i-- > 0;)
    if (series.values[i]) {
      ++out.known;
      first_known = i;
    }
  TRY(check(series, options, out.known));
  out.begin = series.end();
  out.step = series.step;
  out.season = season_of(series);

  ForecastWalk walk(series, options.horizon);
  ForecastScores scores(series, out.season, walk.distances());
  // Origins lie at the same places however long the series is: a longer history only adds to the walk.
  const size_t stride = std::clamp<size_t>(options.horizon / 8, 1, kMostStepsBetweenOrigins);
  // The score begins when seasonal-naive has seen its season twice and there is a third of the history to learn from.
  const size_t scored_from = std::max(out.season * 2, size / 3);
  for (size_t origin = stride; origin < size; origin += stride) {
    if (origin < first_known + kFirstOrigin) continue;
    walk.learn(origin);
    Said said = walk.say(origin);
    if (origin >= scored_from) scores.add(said, out.backtest);
    walk.keep(std::move(said));
  }
  walk.learn(size);
  out.points = walk.say(size).points;
  out.score = scores.total();
  for (size_t c = 0; c < walk.distances(); ++c)
    out.distances.push_back({size_t{1} << c, std::min(options.horizon, last_of_class(c)), scores.at(c), walk.weights(c)});
  const bool never_negative =
      std::all_of(series.values.begin(), series.values.end(), [](const auto& v) { return !v || *v >= 0; });
  apply_changes(options.changes, never_negative ? 0 : -HUGE_VAL, out);
  return out;
}

}  // namespace stint
