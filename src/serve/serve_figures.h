// What a served model has done, as it is told at /metrics.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/time.h"
#include "batching/batcher.h"
#include "batching/recent_latency.h"
#include "batching/request_rate.h"

namespace stint::serve {

/// Times in buckets whose bounds double: 50 µs to 13 s.
struct TimeHistogram {
  static constexpr size_t kBounds = 19;
  static Duration bound(size_t i) { return Duration::nanoseconds(int64_t{50'000} << i); }
  std::array<int64_t, kBounds + 1> counts = {};  ///< the last is of what is longer than all bounds
  Duration sum;
  void add(Duration time);
};

inline constexpr size_t kRefusalReasons = static_cast<size_t>(batching::RefusalReason::kNoMemory) + 1;

struct ServeFigures {
  int64_t answered = 0, failed = 0, cancelled = 0;
  std::array<int64_t, kRefusalReasons> refused = {};  ///< by RefusalReason
  int64_t items = 0, batches = 0;
  int64_t cache_hits = 0, cache_misses = 0;  ///< answered by what is kept; computed
  int64_t cache_joined = 0;                  ///< waited for the answer to the same request
  int64_t late_batches = 0;                  ///< that took more than twice what the curve says
  int64_t streams = 0, open_streams = 0;     ///< of answers: so far; now
  TimeHistogram request_time, batch_time;
  int64_t waiting = 0, running = 0;
  double most_per_second = 0;   ///< Poisson load at which the promise is just kept; 0: no promise
  double latency_ratio = 1;     ///< batches take so many times as long as was measured at the load
  int64_t preferred_batch = 0;  ///< the least at which a batch starts at once
  Duration max_wait;
  int64_t retunes = 0;
  double per_second = 0;        ///< requests that come: over about the last minute, or the last seconds once the load has risen
  std::optional<Duration> p99;  ///< of the request times of about the last minute; none = nothing was answered
};

/// Under its owner's lock.
class FigureBook {
 public:
  void came(Instant now) {
    steady_.add(now, kSteadyHalfLife);
    latest_.add(now, kLatestHalfLife);
  }
  /// @param time  from its coming to its answer, good or bad.
  void ended(Instant now, Duration time);
  ServeFigures& counts() { return counts_; }
  [[nodiscard]] ServeFigures read(Instant now) const;

 private:
  static constexpr Duration kSteadyHalfLife = Duration::seconds(30);
  static constexpr Duration kLatestHalfLife = Duration::seconds(5);
  ServeFigures counts_;
  batching::RequestRate steady_, latest_;
  batching::RecentLatency recent_;
};

}  // namespace stint::serve
