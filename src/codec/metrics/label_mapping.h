// What a Prometheus series means: from a metric's name and labels to the device, the holder and the metric.
//
// Knows DCGM exporter (all label styles since 1.x), nvidia_gpu_exporter, the CPU recording rule of the node
// mixin, and `stint_NAME` or `stint_gpu_NAME` with the names and units of model/metric.h: the
// daemon's exposition, and recording rules of one's own.
// Sources: dcgm-exporter etc/default-counters.csv and docs; nvidia_gpu_exporter METRICS.md; node-mixin rules.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "codec/importer.h"
#include "telemetry/series.h"

namespace stint {

struct SeriesLabel {
  std::string_view name;
  std::string_view value;
};

struct MappedSeries {
  SeriesKey key;
  double factor = 1;         ///< the source's unit → the metric's
  bool dcgm_blanks = false;  ///< values that is_dcgm_blank() says are none
};

/// @return none: not a metric Stint keeps. Error: one it keeps, but the labels do not say of which device.
Result<std::optional<MappedSeries>> map_series(std::string_view metric, std::span<const SeriesLabel> labels,
                                               const ImportOptions& options);

/// DCGM's "not supported", "not found", "not permissioned" and "blank" (dcgm_structs.h, DCGM_*_BLANK), for
/// integers of 64 and 32 bits and for doubles.
inline bool is_dcgm_blank(double v) {
  // …792 to …795 are one double; nothing measured comes near.
  return v >= 9.2233720368547e18 || (v >= 2147483632.0 && v <= 2147483635.0) ||
         (v >= 140737488355328.0 && v <= 140737488355331.0);
}

}  // namespace stint
