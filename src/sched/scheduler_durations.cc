// What is learnt from jobs that end, and what is thought of those that have not: how long they run.
//
// Only ends are learnt from, when they come: what a forecast rests on had ended before. What a job says itself goes first: what it
// expects while it has not run for longer, and no time limit is exceeded.
#include <algorithm>

#include "sched/scheduler_impl.h"

namespace stint::sched {
namespace {

/// Nine in ten end by what is planned with.
constexpr int kPlannedPerMille = 900;

}  // namespace

/// It has ended. A job that never ran says nothing.
void Scheduler::Impl::learn_from(JobId j) {
  const Kin own = kin(j);
  const JobRecord& r = jobs[j.index()];
  if (!own.known() || r.starts == 0) return;
  // Who saves nothing begins anew with every start: the last one counts.
  const bool saves = terms_of(j).checkpoint.interval != kUnlimited;
  const Duration last = now - r.started;
  const Duration ran = saves || r.starts == 1 ? r.served : std::min(r.served, last);
  const bool out_of_time = r.time_limit != kUnlimited && last >= r.time_limit;
  const RunEnd how = r.succeeded ? RunEnd::kDone : out_of_time ? RunEnd::kCutOff : RunEnd::kBroken;
  durations.learn(own, shapes[r.shape].total.gpu_milli, ran, how, now);
}

std::optional<RunForecast> Scheduler::Impl::forecast(JobId j) const {
  const Kin own = kin(j);
  if (!own.known()) return std::nullopt;
  return durations.forecast(own, shapes[jobs[j.index()].shape].total.gpu_milli);
}

std::optional<Duration> Scheduler::Impl::cost_of_an_end(JobId j, Duration served) const {
  const JobRecord& r = jobs[j.index()];
  if (r.expected != kUnlimited && served < r.expected) return std::min(r.expected, r.time_limit) - served;
  const std::optional<RunForecast> known = forecast(j);
  if (!known) return std::nullopt;
  const Duration cost = known->cost_of_an_end(served);
  return r.time_limit == kUnlimited ? cost : std::min(cost, std::max(r.time_limit - served, Duration()));
}

/// As long as it may run or says that it runs, else as nine in ten like it do; kUnlimited = nothing is known.
Duration Scheduler::Impl::longest_thinkable(JobId j) const {
  const JobRecord& r = jobs[j.index()];
  const Duration longest = r.longest_run();
  if (longest != kUnlimited || policy.durations != Durations::kLearnt) return longest;
  const std::optional<RunForecast> known = forecast(j);
  return known ? known->quantile(kPlannedPerMille, r.served) : kUnlimited;
}

/// In all, for words. What it says itself has no interval. What only jobs of other users took says nothing of this one, and
/// something of theirs.
std::optional<ExpectedRun> Scheduler::Impl::expected_run(JobId j) const {
  const JobRecord& r = jobs[j.index()];
  const Duration so_far = r.served + (r.phase == Phase::kRunning ? now - r.started : Duration());
  if (r.expected != kUnlimited && so_far < r.expected)
    return ExpectedRun{.typical = r.expected, .low = r.expected, .high = r.expected};
  const std::optional<RunForecast> known = forecast(j);
  if (!known || known->likeness() < Likeness::kUser) return std::nullopt;
  const auto within_limit = [&](int per_mille) {
    return std::min(known->quantile(per_mille, so_far), std::max(r.time_limit, so_far));
  };
  return ExpectedRun{.typical = within_limit(500),
                     .low = within_limit(100),
                     .high = within_limit(kPlannedPerMille),
                     .like = known->like(),
                     .likeness = known->likeness()};
}

/// So many in a thousand like it have ended by then, if it starts now or has started; not before now. kNever = nothing is known.
Instant Scheduler::Impl::likely_end(JobId j, int per_mille) const {
  const JobRecord& r = jobs[j.index()];
  const Duration so_far = r.served + (r.phase == Phase::kRunning ? now - r.started : Duration());
  const Duration longest = r.longest_run();
  if (r.expected != kUnlimited && so_far < r.expected) return now + (longest - std::min(so_far, longest));
  const std::optional<RunForecast> known = forecast(j);
  if (!known) return kNever;
  const Duration left = known->quantile(per_mille, so_far) - so_far;
  return now + (longest == kUnlimited ? left : std::min(left, std::max(r.time_limit - so_far, Duration())));
}

}  // namespace stint::sched
