// How long batches take on a device, with their spread, as measured at some sizes.
//
// Between two measured sizes each quantile lies on the straight line between theirs. A profile never says that a larger batch is
// faster: it could have been run as a padded larger one, and a fall is noise of the measurement.
#pragma once

#include <cstdint>
#include <vector>

#include "base/prng.h"
#include "base/result.h"
#include "batching/batch_policy.h"

namespace stint::batching {

struct MeasuredBatch {
  int64_t batch = 0;            ///< items
  std::vector<Duration> times;  ///< of runs, in any order, warm-up left out
};

class LatencyProfile {
 public:
  /// @param measured  at least one, a batch of 1 among them; each size once, each time > 0.
  static Result<LatencyProfile> create(std::vector<MeasuredBatch> measured);

  [[nodiscard]] int64_t largest() const { return points_.back().batch; }
  /// Ascending.
  [[nodiscard]] std::vector<int64_t> measured_sizes() const;
  /// @param batch  1 … largest(). @param q  0 … 1.
  [[nodiscard]] Duration quantile(int64_t batch, double q) const;
  [[nodiscard]] Duration mean(int64_t batch) const;
  /// One run's time, as likely as it was measured.
  [[nodiscard]] Duration draw(int64_t batch, Prng& prng) const { return quantile(batch, prng.uniform()); }
  /// The same with the times of each measured size so many times as long. @param factors  as measured_sizes(), each > 0.
  [[nodiscard]] LatencyProfile scaled(const std::vector<double>& factors) const;
  /// For the batcher: that quantile at each size up to `max_batch`.
  [[nodiscard]] LatencyCurve curve(int64_t max_batch, double q) const;

 private:
  explicit LatencyProfile(std::vector<MeasuredBatch> points) : points_(std::move(points)) {}
  /// The measured sizes around `batch`, and how far it lies between them.
  struct Between {
    const MeasuredBatch* below;
    const MeasuredBatch* above;
    double part;
  };
  [[nodiscard]] Between between(int64_t batch) const;

  std::vector<MeasuredBatch> points_;  // ascending, times sorted, equally many, no quantile falling with size
};

}  // namespace stint::batching
