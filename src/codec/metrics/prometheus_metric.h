// Under which name, and in which unit, a scrape has a metric: of DCGM exporter, or of Stint itself where there is none.
//
// A GPU that is cut by MIG has no utilisation: its instances report PROF_GR_ENGINE_ACTIVE, which stands in for it. Where Stint's
// daemon reads GPUs through NVML its own `stint_gpu_*` are all there is. So one expression looks for all of these.
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

/// What `/metrics` of the daemon calls it: "stint_gpu_utilization".
std::string gauge_name(Metric metric);

/// A GPU's own metric, not that of a machine or a service.
bool is_of_gpu(Metric metric);

/// PromQL that has one series for each GPU or MIG instance (labels Hostname, gpu, UUID, GPU_I_ID, GPU_I_PROFILE) in DCGM's everyday
/// unit, whoever exports it.
/// @param matchers  between the braces of each selector; may be empty.
/// @param window  means over that long, as PromQL writes it; empty = what is now.
std::string from_any_exporter(Metric metric, std::string_view matchers = "", std::string_view window = "");

/// The series that rules look at: the recording rule that holds from_any_exporter(), "gpu:utilization"; else the metric itself.
std::string series_of(Metric metric);

/// `avg_over_time(SERIES[WINDOW])`. @param window  as PromQL writes it; with an offset where wanted.
std::string average_over(Metric metric, std::string_view window);

/// Rounded down: PromQL counts windows in whole minutes here.
inline int64_t whole_minutes(Duration d) { return d.count_ns() / Duration::minutes(1).count_ns(); }

/// "1h", "90m", "7d".
std::string promql_duration(int64_t minutes);

}  // namespace stint
