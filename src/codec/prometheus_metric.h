// Under which name, and in which unit, a scrape of DCGM exporter (or of Stint itself) has a metric.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/metric.h"

namespace stint {

struct ScrapedMetric {
  std::vector<std::string_view> parts;  ///< summed up; one for all but total memory
  double factor = 1;                    ///< the sum times this is the metric in DCGM's everyday unit: %, MiB, W, °C, ms
};
ScrapedMetric scraped(Metric metric);

/// `avg_over_time(PART[WINDOW])`, summed and scaled. @param window  as PromQL writes it; with an offset where wanted.
std::string average_over(Metric metric, std::string_view window);

/// Rounded down: PromQL counts windows in whole minutes here.
inline int64_t whole_minutes(Duration d) { return d.count_ns() / Duration::minutes(1).count_ns(); }

/// "1h", "90m", "7d".
std::string promql_duration(int64_t minutes);

}  // namespace stint
