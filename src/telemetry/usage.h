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
    uint16_t covered_s = 0;      ///< 0 … 3600
    uint16_t idle_permille = 0;  ///< percentages only: share of samples below kIdleBelowPercent
  };
  std::vector<Hour> hours;  ///< one per hour of Usage::period
  Sketch sketch;            ///< all samples of the period
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
  /// kUtilization; where that is missing, or is 0 throughout although the engine was active (both happen under
  /// MIG), kEngineActive, else kSmActive; nullptr = no utilisation telemetry.
  [[nodiscard]] const HourlySeries* utilization() const;
  [[nodiscard]] std::optional<Metric> utilization_source() const;
  [[nodiscard]] const HourlySeries* find(Metric m) const;
};

struct Usage {
  Interval period;                                         ///< whole UTC hours
  std::vector<DeviceUsage> devices;                        ///< by DeviceId of the History
  std::map<NodeId, std::map<Metric, HourlySeries>> nodes;  ///< metrics of the machine, such as kHostCpu
  [[nodiscard]] size_t hour_count() const { return static_cast<size_t>(period.length().count_ns() / kHour.count_ns()); }
};

/// Adds one hour to a series of `usage`. @param hour_offset  hours since Usage::period.begin, < hour_count.
/// An hour that is already there (a second source of the same series) is averaged in by coverage.
void add_hour(HourlySeries& series, Metric metric, size_t hour_offset, size_t hour_count, const Rollup& rollup);

/// Makes one HourlySeries out of stored days, much faster than decode_rollup_day and add_hour.
class HourlySeriesBuilder {
 public:
  /// @param period  whole UTC hours.
  HourlySeriesBuilder(Metric metric, Interval period);
  /// Adds a day; its hours outside the period are left out. @return error when the bytes are damaged.
  Status add_day(int64_t day_index, std::string_view bytes);
  /// The series so far; starts again from nothing.
  HourlySeries take();

 private:
  Metric metric_;
  int64_t first_hour_;
  size_t hour_count_;
  HourlySeries series_;
  SketchAccumulator sketch_;
};

/// Where a device has no series for a metric but its holders do, makes one. In each hour holders that
/// show the same value (time slicing, MPS: every pod repeats the device's) count once; holders that fit into the
/// hour one after another are averaged by coverage; of holders that overlap the largest is taken. A separate series
/// that stops while somebody holds the device is completed in the same way; one that runs beside the holders' stands.
void fill_device_series_from_holders(DeviceUsage& device);

}  // namespace stint
