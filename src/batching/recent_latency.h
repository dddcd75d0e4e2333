// Latency of about the last minute, for those who watch it.
#pragma once

#include <array>
#include <optional>

#include "batching/latency_histogram.h"

namespace stint::batching {

class RecentLatency {
 public:
  /// @param now  not before that of the call before; an earlier one counts as that.
  void add(Instant now, Duration time);
  /// LatencyHistogram::quantile of what the 30 to 60 s before `now` told; none when they told nothing.
  [[nodiscard]] std::optional<Duration> quantile(Instant now, double q) const;

 private:
  static constexpr Duration kHalf = Duration::seconds(30);
  static int64_t half_of(Instant now) { return now.ns() / kHalf.count_ns(); }
  /// By the half minute's number, odd and even.
  std::array<LatencyHistogram, 2> halves_;
  int64_t newest_ = 0;
};

}  // namespace stint::batching
