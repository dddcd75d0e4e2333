#include "sched/usage_decay.h"

#include <cmath>
#include <numbers>

#include "base/check.h"

namespace stint::sched {

namespace {
double left_after(Duration passed, Duration half_life) { return std::exp2(-passed.to_seconds() / half_life.to_seconds()); }
/// What holding one GPU for ever comes to: the integral of 2^(−t/h).
double full(Duration half_life) { return half_life.to_seconds() / std::numbers::ln2; }
}  // namespace

void DecayedUsage::add(Instant now, double gpus) {
  CHECK(now >= as_of_ && gpus >= 0, "usage of {} GPUs to an instant before the last", gpus);
  if (half_life_ > Duration()) {
    const double left = left_after(now - as_of_, half_life_);
    gpu_seconds_ = gpu_seconds_ * left + gpus * full(half_life_) * (1 - left);
  }
  as_of_ = now;
}

double DecayedUsage::at(Instant now) const {
  CHECK(now >= as_of_, "usage at an instant before the last");
  return half_life_ > Duration() ? gpu_seconds_ * left_after(now - as_of_, half_life_) : 0;
}

double DecayedUsage::fraction_of(double cluster_gpus, Instant now) const {
  return half_life_ > Duration() && cluster_gpus > 0 ? at(now) / (cluster_gpus * full(half_life_)) : 0;
}

}  // namespace stint::sched
