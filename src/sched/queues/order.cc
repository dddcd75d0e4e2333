#include "sched/queues/order.h"

#include <algorithm>

namespace stint::sched {
namespace {

constexpr Duration kFirstLevel = Duration::minutes(8);
constexpr int64_t kStretch = 4;
// Of 64, 128 and 256, and 14 to 90 days: docs/benchmarks.md, "Durations from experience".
constexpr int64_t kDelayPerCost = 128;
constexpr Duration kMostDelay = Duration::hours(24 * 45);
/// What is not known takes longest of all; and an instant that much later is still an instant.
constexpr Duration kLongest = Duration::hours(24 * 365 * 100);

/// Instants as ranks; priority classes as time, or compared before it.
Rank by_age(const Policy& policy, const RankFacts& job, int64_t ns) {
  if (policy.ageing.count_ns() == 0) return {.major = -job.priority, .minor = ns};
  return {.major = 0, .minor = ns - policy.ageing.count_ns() / kPriorityClass * job.priority};
}

/// When it would have been submitted if a deadline that is near were waiting.
Instant waits_since(const RankFacts& job) {
  if (job.latest_start == kNever) return job.submitted;
  return job.submitted - std::clamp(kDeadlineNear - (job.latest_start - job.submitted), Duration(), kDeadlineNear);
}

/// kDelayPerCost times a small cost; longer costs come ever nearer to kMostDelay and keep their order.
Duration delay_for(Duration cost) {
  __extension__ using WideNs = __int128;
  constexpr int64_t kMost = kMostDelay.count_ns();
  return Duration::nanoseconds(static_cast<int64_t>(WideNs{kMost} * cost.count_ns() / (cost.count_ns() + kMost / kDelayPerCost)));
}

}  // namespace

Rank rank_of(const Policy& policy, const RankFacts& job) {
  switch (policy.order) {
    case Order::kFifo:
    case Order::kFifoSkip: return {.major = -job.priority, .minor = job.submitted.ns()};
    case Order::kSjfOracle: return {.major = -job.priority, .minor = job.expected.count_ns()};
    case Order::kSrtf: return {.major = -job.priority, .minor = (std::min(job.expected, kLongest) - job.served).count_ns()};
    case Order::kFair: return by_age(policy, job, waits_since(job).ns());
    case Order::kStint: break;
  }
  if (job.cost_of_an_end) return by_age(policy, job, (waits_since(job) + delay_for(*job.cost_of_an_end)).ns());
  const int level = level_of(job.served);
  const Duration counted = level == 0 ? Duration() : end_of_level(level - 1) * 2;
  return by_age(policy, job, (waits_since(job) + counted * kStretch).ns());
}

int level_of(Duration served) {
  int level = 0;
  while (level + 1 < kLevels && served >= end_of_level(level))
    ++level;
  return level;
}

Duration end_of_level(int level) { return level + 1 >= kLevels ? kUnlimited : kFirstLevel * (int64_t{1} << level); }

QueueRule line_rule(const Policy& policy) {
  const QueueRule rule = queue_rule(policy.order);
  const bool reclaims = policy.reclaim && !is_preemptive(policy.order);
  return rule == QueueRule::kOneLine && reclaims ? QueueRule::kByClaim : rule;
}

}  // namespace stint::sched
