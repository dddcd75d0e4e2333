// Usage: rollups of a whole History in the shape analyses want: dense hourly arrays per device and metric.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/time.h"
#include "model/fleet.h"
#include "model/metric.h"
#include "model/workload.h"
#include "telemetry/rollup.h"

namespace stint {

/// One metric of one device (or of one holder on it) over the period.
struct HourlySeries {
  /// Per hour of the period; covered_s 0 = no sample, and the values mean nothing.
  struct Hour {
    float mean = 0;
    float max = 0;
    uint16_t covered_s = 0;     ///< 0 … 3600
    uint16_t idle_permille = 0; ///< percentages only: share of samples below kIdleBelowPercent
  };
  std::vector<Hour> hours;      ///< one per hour of Usage::period
  Sketch sketch;                ///< all samples of the period
  double min = 0;
  double max = 0;
  uint64_t count = 0;
  [[nodiscard]] bool empty() const { return count == 0; }
};

/// A GPU is active in a sample when its utilisation is at least this.
inline constexpr double kIdleBelowPercent = 1.0;

struct DeviceUsage {
  std::map<Metric, HourlySeries> metrics;  ///< of the device itself
  /// Per holder: utilisation and memory as attributed by the source. Order: HolderId.
  struct Held {
    HolderId holder;
    std::map<Metric, HourlySeries> metrics;
  };
  std::vector<Held> holders;
  /// kUtilization, or kEngineActive where that is all there is (MIG, some exporters); none = no utilisation telemetry.
  [[nodiscard]] const HourlySeries* utilization() const;
  [[nodiscard]] std::optional<Metric> utilization_source() const;
  [[nodiscard]] const HourlySeries* find(Metric m) const;
};

struct Usage {
  Interval period;                   ///< whole UTC hours
  std::vector<DeviceUsage> devices;  ///< by DeviceId of the History
  std::map<NodeId, std::map<Metric, HourlySeries>> nodes;  ///< metrics of the machine, such as kHostCpu
  [[nodiscard]] size_t hour_count() const { return static_cast<size_t>(period.length().count_ns() / kHour.count_ns()); }
};

/// Adds one hour to a series of `usage`. @param hour_offset  hours since Usage::period.begin.
void add_hour(HourlySeries& series, Metric metric, size_t hour_offset, size_t hour_count, const Rollup& rollup);

/// Where a device has no series of its own but its holders do, makes one: holders that show the same value
/// (time slicing, MPS: every pod repeats the device's) count once; the largest is taken per hour.
void fill_device_series_from_holders(DeviceUsage& device);

}  // namespace stint
