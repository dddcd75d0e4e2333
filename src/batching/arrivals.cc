#include "batching/arrivals.h"

#include <cmath>

namespace stint::batching {

Status check_arrivals(const ArrivalPlan& plan) {
  if (plan.kind == ArrivalPlan::Kind::kBursty) {
    if (!(plan.burst_factor > 1) || !(plan.burst_share > 0) || !(plan.burst_factor * plan.burst_share < 1) ||
        plan.burst_length <= Duration())
      return invalid("bursts at {} times the mean rate for {} of the time: the factor must be above 1 and both together below 1",
                     plan.burst_factor, plan.burst_share);
  }
  if (plan.kind == ArrivalPlan::Kind::kTrace) {
    Duration sum;
    for (const Duration gap : plan.trace) {
      if (gap < Duration()) return invalid("a trace's arrivals go back by {} ns: sort them", -gap.count_ns());
      sum += gap;
    }
    if (plan.trace.size() < 2 || sum == Duration())
      return invalid("a trace of {} arrivals over {} s: two at different times are the least", plan.trace.size(),
                     sum.to_seconds());
  }
  return {};
}

ArrivalStream::ArrivalStream(const ArrivalPlan& plan, double per_second, int64_t replicas, uint64_t seed)
    : plan_(plan), per_second_(per_second), replicas_(replicas), prng_(seed) {
  CHECK(per_second > 0 && replicas > 0, "{} requests per second at {} replicas", per_second, replicas);
  if (plan.kind == ArrivalPlan::Kind::kBursty) {
    burst_ = prng_.uniform() < plan.burst_share;
    const auto length = static_cast<double>(plan.burst_length.count_ns());
    phase_end_ns_ = exponential(burst_ ? length : length * (1 - plan.burst_share) / plan.burst_share);
  }
  if (plan.kind == ArrivalPlan::Kind::kTrace) {
    double sum = 0;
    for (const Duration gap : plan.trace)
      sum += static_cast<double>(gap.count_ns());
    stretch_ = 1e9 / per_second * static_cast<double>(plan.trace.size()) / sum;
    at_ = prng_.below(plan.trace.size());
  }
}

double ArrivalStream::exponential(double mean) { return -mean * std::log1p(-prng_.uniform()); }

Instant ArrivalStream::next() {
  const double here = per_second_ / static_cast<double>(replicas_);
  switch (plan_.kind) {
    case ArrivalPlan::Kind::kPoisson: now_ns_ += exponential(1e9 / here); break;
    case ArrivalPlan::Kind::kBursty:
      for (;;) {
        const double calm = (1 - plan_.burst_share * plan_.burst_factor) / (1 - plan_.burst_share);
        const double gap = exponential(1e9 / (here * (burst_ ? plan_.burst_factor : calm)));
        if (now_ns_ + gap <= phase_end_ns_) {
          now_ns_ += gap;
          break;
        }
        // Without memory: what is left of the gap is drawn anew in the next phase.
        now_ns_ = phase_end_ns_;
        burst_ = !burst_;
        const auto length = static_cast<double>(plan_.burst_length.count_ns());
        phase_end_ns_ += exponential(burst_ ? length : length * (1 - plan_.burst_share) / plan_.burst_share);
      }
      break;
    case ArrivalPlan::Kind::kTrace:
      do {
        now_ns_ += stretch_ * static_cast<double>(plan_.trace[at_].count_ns());
        at_ = (at_ + 1) % plan_.trace.size();
      } while (replicas_ > 1 && prng_.below(static_cast<uint64_t>(replicas_)) != 0);
      break;
  }
  return Instant::from_ns(std::llround(now_ns_));
}

}  // namespace stint::batching
