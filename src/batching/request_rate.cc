#include "batching/request_rate.h"

#include <algorithm>

namespace stint::batching {
namespace {

constexpr int64_t kTicks = 64;                   // per half-life
constexpr uint64_t kTickFactor = 4'248'701'965;  // 2^(−1/64) in 2^−32
constexpr int64_t kMostCounted = int64_t{1} << 46;

int64_t tick_of(Instant t, Duration half_life) { return t.ns() / std::max<int64_t>(1, half_life.count_ns() / kTicks); }

}  // namespace

int64_t RequestRate::at(Instant now, Duration half_life) const {
  // Threads read the clock before they take turns: one may come with a time from before the last request.
  const int64_t ticks = std::max<int64_t>(0, tick_of(now, half_life) - tick_);
  if (ticks / kTicks >= 63) return 0;
  auto count = static_cast<uint64_t>(count_ >> (ticks / kTicks));
  for (int64_t i = 0; i < ticks % kTicks; ++i)  // 2^46 × 2^32 does not fit: by halves
    count = (count >> 32) * kTickFactor + (((count & 0xffffffffU) * kTickFactor) >> 32);
  return static_cast<int64_t>(count);
}

void RequestRate::add(Instant now, Duration half_life, int64_t requests) {
  count_ = std::min(kMostCounted, at(now, half_life) + requests * kOne);
  tick_ = std::max(tick_, tick_of(now, half_life));
}

}  // namespace stint::batching
