// Turns streams of samples into hourly rollups, in bounded memory: per series, the raw samples of the hour
// in progress (12 bytes each) and nothing older.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "telemetry/rollup.h"
#include "telemetry/series.h"

namespace stint {

class RollupBuilder {
 public:
  /// Called when an hour of a series is complete. The same hour can come more than once when samples
  /// arrive out of order; the receiver merges.
  using Emit = std::function<void(SeriesId, int64_t hour_index, const Rollup&)>;
  explicit RollupBuilder(Emit emit);
  ~RollupBuilder();

  /// Ids must be dense and declared once, in order 0, 1, 2, …
  void declare(SeriesId id, Metric metric);
  /// Samples at an instant the series already has in its open hour are dropped and counted.
  void add(SeriesId id, std::span<const Sample> samples);
  /// The series has no value from here on (stale marker): the last sample's hold ends at `at`.
  void interrupt(SeriesId id, Instant at);
  /// Emits all open hours.
  void flush();

  [[nodiscard]] uint64_t accepted() const;
  [[nodiscard]] uint64_t duplicates() const;

 private:
  struct State;
  void close(SeriesId id);
  std::vector<State> states_;
  Emit emit_;
  std::vector<float> scratch_;
  uint64_t accepted_ = 0;
  uint64_t duplicates_ = 0;
};

}  // namespace stint
