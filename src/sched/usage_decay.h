// Past usage that fades: what was used a half-life ago counts half.
//
// Kept as GPU-seconds at an instant and only brought forward when it is read or added to, so that thousands of queues
// cost nothing while nothing happens. Splitting an interval changes nothing but rounding: 2^(−(a+b)/h) = 2^(−a/h) · 2^(−b/h),
// and usage within an interval decays from the instant it was used.
#pragma once

#include "base/time.h"

namespace stint::sched {

class DecayedUsage {
 public:
  /// @param half_life  > 0; 0 = the past does not count: at() is always 0.
  explicit DecayedUsage(Duration half_life, Instant from = {}) : half_life_(half_life), as_of_(from) {}

  /// `gpus` were held from the last call of add() (or the beginning) to `now`. @param now  never before the last call's.
  void add(Instant now, double gpus);
  /// GPU-seconds, faded to `now`, which is not before the last add(). Relative error below 1e-12 per call of add().
  [[nodiscard]] double at(Instant now) const;
  /// As a fraction of a cluster of so many GPUs that has been full for ever: 0 … 1. What fair_share.h calls usage.
  [[nodiscard]] double fraction_of(double cluster_gpus, Instant now) const;

 private:
  Duration half_life_;
  Instant as_of_;
  double gpu_seconds_ = 0;
};

}  // namespace stint::sched
