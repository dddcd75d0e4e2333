#include "codec/metrics/service_figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/text.h"
#include "codec/decimal.h"
#include "codec/metrics/prometheus_series.h"
#include "model/metric.h"

namespace stint {
namespace {

double longest(double a, double b) { return std::max(a, b); }
double least(double a, double b) { return std::min(a, b); }
double sum_of(double a, double b) { return a + b; }

struct Told {
  std::string_view name;   ///< of the metric, with the brace behind it
  std::string_view label;  ///< that names the service
  std::optional<double> ServiceFigures::* figure;
  double (*together)(double, double);
  bool (*possible)(double);
};

constexpr std::array kTold = {
    Told{"stint_latency_p99{", "service", &ServiceFigures::p99_ms, longest,
         [](double ms) { return is_plausible(Metric::kLatencyP99, ms); }},
    Told{"stint_serve_promise_headroom{", "model", &ServiceFigures::headroom, least, [](double part) { return part <= 1; }},
    Told{"stint_serve_arrivals_per_second{", "model", &ServiceFigures::per_second, sum_of, [](double rate) { return rate >= 0; }},
};

}  // namespace

std::vector<ServiceFigures> read_service_figures(std::string_view exposition) {
  if (std::ranges::none_of(kTold, [&](const Told& told) { return exposition.find(told.name) != std::string_view::npos; }))
    return {};
  std::map<std::string, ServiceFigures, std::less<>> by_service;
  PrometheusSeriesText series;
  for (const std::string_view line : split(exposition, '\n')) {
    const auto told = std::ranges::find_if(kTold, [&](const Told& t) { return line.starts_with(t.name); });
    if (told == kTold.end()) continue;
    const Result<size_t> length = series.parse(line);
    if (!length.ok()) continue;
    const auto service = std::ranges::find(series.labels(), told->label, &SeriesLabel::name);
    if (service == series.labels().end() || service->value.empty()) continue;
    const std::string_view rest = trim(line.substr(*length));
    const std::optional<double> value = parse_any_number(rest.substr(0, rest.find_first_of(" \t")));
    if (!value || !std::isfinite(*value) || !told->possible(*value)) continue;
    std::optional<double>& figure = by_service[std::string(service->value)].*(told->figure);
    figure = figure ? told->together(*figure, *value) : *value;
  }
  std::vector<ServiceFigures> all;
  for (auto& [service, figures] : by_service) {
    figures.service = service;
    all.push_back(std::move(figures));
  }
  return all;
}

}  // namespace stint
