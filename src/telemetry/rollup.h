// Rollup: one metric of one series for one UTC hour, as a mergeable sketch with coverage.
//
// Percentages lie on a half-point grid, so a quantile is within 0.25 points and whole percents are exact;
// every other metric lies on a logarithmic grid with 1 % relative error (Masson, Rim, Lee 2019,
// "DDSketch", section 2). Missing is not zero: an hour without samples has no rollup, and an hour with
// few has a small `covered`.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/metric.h"

namespace stint {

struct Sample {
  Instant at;
  double value = 0;  ///< in the metric's unit (model/metric.h); finite
};

/// A sample speaks for the time until the next one, at most this long (Prometheus' look-back delta).
inline constexpr Duration kLongestHold = Duration::minutes(5);

/// Distribution of values: ascending bins with counts.
class Sketch {
 public:
  struct Bin {
    int32_t key = 0;     ///< grid position; meaning depends on the metric's grid
    uint32_t count = 0;  ///< > 0
  };

  void add(Metric metric, double value, uint32_t count = 1);
  /// Adds many values at once: sorts, then merges. Much faster than add() in a loop.
  void add_all(Metric metric, std::span<const float> values);
  void merge(const Sketch& other);
  [[nodiscard]] uint64_t count() const { return count_; }
  /// Value below or at which the fraction `q` (0–1) of the samples lies (nearest rank). none when empty.
  [[nodiscard]] std::optional<double> quantile(Metric metric, double q) const;
  /// Samples at or below `value`, as a fraction 0–1. 0 when empty.
  [[nodiscard]] double fraction_at_most(Metric metric, double value) const;
  [[nodiscard]] std::span<const Bin> bins() const { return bins_; }

 private:
  friend struct RollupCodec;
  std::vector<Bin> bins_;
  uint64_t count_ = 0;
};

struct Rollup {
  uint32_t count = 0;
  double sum = 0;
  double min = 0;
  double max = 0;
  Duration covered;  ///< 0 … 1 h: time the samples speak for
  Instant first;     ///< of the samples
  Instant last;
  Sketch sketch;

  [[nodiscard]] double mean() const { return count == 0 ? 0 : sum / count; }

  /// Joins two rollups of the same series and hour. When their time spans do not overlap they add up;
  /// when they do (the same hour read twice from two sources) the one that covers more wins, so that
  /// nothing is counted twice. Ties keep *this.
  void merge(const Rollup& other);
};

/// 24 hourly rollups of one series, as stored: see docs/formats.md "rollup day".
struct RollupDay {
  int64_t day_index = 0;  ///< days since 1970, UTC
  std::array<std::optional<Rollup>, 24> hours;
};
std::string encode(const RollupDay& day);
/// @return error when the bytes are damaged; never reads outside them.
Result<RollupDay> decode_rollup_day(int64_t day_index, std::string_view bytes);

}  // namespace stint
