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
  friend class SketchAccumulator;
  std::vector<Bin> bins_;
  uint64_t count_ = 0;
};

/// Adds up many sketches of one metric: a dense window over the grid, so that a bin costs one addition.
class SketchAccumulator {
 public:
  void add(int32_t key, uint32_t count) {
    const auto slot = static_cast<size_t>(static_cast<int64_t>(key) - base_);
    if (slot >= counts_.size()) [[unlikely]]
      return grow_and_add(key, count);
    counts_[slot] += count;
  }
  void add(const Sketch& sketch);
  /// The sum so far; starts again from nothing.
  Sketch take();

 private:
  void grow_and_add(int32_t key, uint32_t count);
  std::vector<uint64_t> counts_;
  int64_t base_ = 0;  ///< grid position of counts_[0]
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
/// Every hour must lie in the day, hold at least one sample and a sketch of as many samples (or none).
std::string encode(const RollupDay& day);
/// @return error when the bytes are damaged; never reads outside them.
Result<RollupDay> decode_rollup_day(int64_t day_index, std::string_view bytes);

/// One hour of a stored day without its sketch.
struct RollupSummary {
  uint32_t hour_of_day = 0;
  uint32_t count = 0;
  uint32_t low = 0;  ///< of `count`, samples in the grid positions ≤ 1: below 0.75 points for percentages
  double sum = 0;
  double min = 0;
  double max = 0;
  Duration covered;
  Instant first;
  Instant last;
};

/// Reads a stored day without building 24 sketches: the summaries at once, the sketches' bins on request.
class RollupDayReader {
 public:
  /// @param bytes  must outlive the reader. @return error when the summaries are damaged.
  static Result<RollupDayReader> open(int64_t day_index, std::string_view bytes);
  /// Ascending by hour.
  [[nodiscard]] std::span<const RollupSummary> hours() const { return std::span(hours_).first(hour_count_); }
  /// Adds the bins of the hours whose bit is set in `hour_mask` (bit 0 = 00:00 UTC).
  /// @return error when a sketch is damaged; bins read before that stay added.
  Status add_sketches(SketchAccumulator& to, uint32_t hour_mask = 0xffffff) const;

 private:
  friend struct RollupCodec;
  RollupDayReader() = default;
  std::array<RollupSummary, 24> hours_;
  size_t hour_count_ = 0;
  std::string_view sketches_;
};

}  // namespace stint
