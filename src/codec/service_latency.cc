#include "codec/service_latency.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "codec/decimal.h"
#include "codec/prometheus_series.h"
#include "model/metric.h"

namespace stint {

std::vector<ServiceLatency> read_service_latencies(std::string_view exposition) {
  constexpr std::string_view kName = "stint_latency_p99{";
  if (exposition.find(kName) == std::string_view::npos) return {};
  std::map<std::string, double, std::less<>> longest;
  PrometheusSeriesText series;
  for (const std::string_view line : split(exposition, '\n')) {
    if (!line.starts_with(kName)) continue;
    const Result<size_t> length = series.parse(line);
    if (!length.ok()) continue;
    const auto service = std::ranges::find(series.labels(), "service", &Label::name);
    if (service == series.labels().end() || service->value.empty()) continue;
    const std::string_view rest = trim(line.substr(*length));
    const std::optional<double> value = parse_any_number(rest.substr(0, rest.find_first_of(" \t")));
    if (!value || !std::isfinite(*value) || !is_plausible(Metric::kLatencyP99, *value)) continue;
    const auto [at, fresh] = longest.try_emplace(std::string(service->value), *value);
    at->second = std::max(at->second, *value);
  }
  std::vector<ServiceLatency> all;
  for (auto& [service, p99_ms] : longest)
    all.push_back({service, p99_ms});
  return all;
}

}  // namespace stint
