#include <nlohmann/json.hpp>

#include "report/forecast_view.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

Json by_method(const std::array<double, kForecastMethodCount>& values) {
  Json out = Json::object();
  for (size_t m = 0; m < values.size(); ++m)
    out[std::string(name_of(static_cast<ForecastMethod>(m)))] = values[m];
  return out;
}

Json score_json(const ForecastScore& s) {
  if (s.compared == 0) return nullptr;
  return {{"origins", s.origins},         {"compared", s.compared},
          {"mean_error", s.mean_error},   {"mase", s.mase},
          {"mase_naive", s.naive_mase},   {"mase_seasonal_naive", s.seasonal_naive_mase},
          {"coverage_90", s.coverage_90}, {"mase_by_method", by_method(s.method_mase)}};
}

Json points_json(const Forecast& forecast) {
  Json out = Json::array();
  for (size_t i = 0; i < forecast.points.size(); ++i) {
    const ForecastPoint& p = forecast.points[i];
    out.push_back({{"at", format_utc(forecast.begin + forecast.step * static_cast<int64_t>(i))},
                   {"expected", p.expected},
                   {"p5", p.p5},
                   {"p10", p.p10},
                   {"p90", p.p90},
                   {"p95", p.p95},
                   {"tested", p.tested}});
  }
  return out;
}

Json distances_json(const Forecast& forecast) {
  Json out = Json::array();
  for (const ForecastDistance& d : forecast.distances)
    out.push_back({{"first", d.first}, {"last", d.last}, {"score", score_json(d.score)}, {"weights", by_method(d.weights)}});
  return out;
}

Json outlook_json(const CapacityOutlook& o) {
  const auto hours = [](const std::optional<Duration>& wait) { return wait ? Json(wait->to_hours()) : Json(nullptr); };
  return {{"kind", o.limit.kind == CapacityLimit::Kind::kCapacity ? "capacity" : "commitment"},
          {"amount", o.limit.amount},
          {"hours_until_short_p90", hours(o.short_p90)},
          {"hours_until_short_expected", hours(o.short_expected)},
          {"peak_expected", o.peak_expected},
          {"peak_p90", o.peak_p90},
          {"mean_used", o.mean_used},
          {"mean_beyond", o.mean_beyond},
          {"to_buy", o.to_buy},
          {"to_release", o.to_release}};
}

Json row_json(const ForecastRow& row) {
  Json outlooks = Json::array();
  for (const CapacityOutlook& outlook : row.outlooks)
    outlooks.push_back(outlook_json(outlook));
  return {{"name", row.series.name},
          {"unit", row.series.unit},
          {"from", format_utc(row.series.begin)},
          {"to", format_utc(row.series.end())},
          {"step_s", row.series.step.to_seconds()},
          {"values", row.series.values.size()},
          {"known", row.forecast.known},
          {"season_steps", row.forecast.season},
          {"score", score_json(row.forecast.score)},
          {"distances", distances_json(row.forecast)},
          {"outlooks", outlooks},
          {"points", points_json(row.forecast)}};
}

}  // namespace

std::string forecast_json(const ForecastView& view) {
  Json series = Json::array();
  for (const ForecastRow& row : view.rows)
    series.push_back(row_json(row));
  const Json out = {{"source", view.source}, {"series", series}, {"notes", view.notes}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace stint
