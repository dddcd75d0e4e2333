// What is learnt from jobs that end, and what is thought of those that have not: how long they run.
//
// Only ends are learnt from, when they come: what a forecast rests on had ended before. What a job says itself goes first: what it
// expects while it has not run for longer, and no time limit is exceeded.
#include "sched/scheduler_durations.h"

#include <algorithm>

namespace stint::sched {
namespace {

/// Nine in ten end by what is planned with.
constexpr int kPlannedPerMille = 900;

}  // namespace

void Forecasts::learn_from(JobId j) {
  const Kin own = s_.jobs.kin(j);
  const JobRecord& r = s_.jobs[j];
  if (!own.known() || r.starts == 0) return;
  // Who saves nothing begins anew with every start: the last one counts.
  const bool saves = s_.jobs.terms_of(j).checkpoint.interval != kUnlimited;
  const Duration last = s_.clock.now - r.started;
  const Duration ran = saves || r.starts == 1 ? r.served : std::min(r.served, last);
  const bool out_of_time = r.time_limit != kUnlimited && last >= r.time_limit;
  const RunEnd how = r.succeeded ? RunEnd::kDone : out_of_time ? RunEnd::kCutOff : RunEnd::kBroken;
  book_.learn(own, s_.jobs.shape(r.shape).total.gpu_milli, ran, how, s_.clock.now);
}

Rank Forecasts::rank_after(JobId j, Duration served) const {
  const JobRecord& r = s_.jobs[j];
  const JobTerms& spec = s_.jobs.terms_of(j);
  RankFacts facts = {.priority = spec.priority, .expected = r.expected, .submitted = r.submitted, .served = served};
  if (s_.policy.durations == Durations::kLearnt && s_.policy.order == Order::kStint)
    facts.cost_of_an_end = cost_of_an_end(j, served);
  if (spec.deadline != kNever) {
    const Duration thinkable = longest_thinkable(j);
    const Duration longest = thinkable == kUnlimited ? Duration() : thinkable;
    facts.latest_start = spec.deadline - std::min(longest, spec.deadline - r.submitted);
  }
  return rank_of(s_.policy, facts);
}

std::optional<RunForecast> Forecasts::forecast(JobId j) const {
  const Kin own = s_.jobs.kin(j);
  if (!own.known()) return std::nullopt;
  return book_.forecast(own, s_.jobs.shape_of(j).total.gpu_milli);
}

std::optional<Duration> Forecasts::cost_of_an_end(JobId j, Duration served) const {
  const JobRecord& r = s_.jobs[j];
  if (r.expected != kUnlimited && served < r.expected) return std::min(r.expected, r.time_limit) - served;
  const std::optional<RunForecast> known = forecast(j);
  if (!known) return std::nullopt;
  const Duration cost = known->cost_of_an_end(served);
  return r.time_limit == kUnlimited ? cost : std::min(cost, std::max(r.time_limit - served, Duration()));
}

/// As long as it may run or says that it runs, else as nine in ten like it do; kUnlimited = nothing is known.
Duration Forecasts::longest_thinkable(JobId j) const {
  const JobRecord& r = s_.jobs[j];
  const Duration longest = r.longest_run();
  if (longest != kUnlimited || s_.policy.durations != Durations::kLearnt) return longest;
  const std::optional<RunForecast> known = forecast(j);
  return known ? known->quantile(kPlannedPerMille, r.served) : kUnlimited;
}

std::optional<ExpectedRun> Forecasts::expected_run(JobId j) const {
  const JobRecord& r = s_.jobs[j];
  const Duration so_far = r.served + (r.phase == Phase::kRunning ? s_.clock.now - r.started : Duration());
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

Instant Forecasts::likely_end(JobId j, int per_mille) const {
  const JobRecord& r = s_.jobs[j];
  const Duration so_far = r.served + (r.phase == Phase::kRunning ? s_.clock.now - r.started : Duration());
  const Duration longest = r.longest_run();
  if (r.expected != kUnlimited && so_far < r.expected) return s_.clock.now + (longest - std::min(so_far, longest));
  const std::optional<RunForecast> known = forecast(j);
  if (!known) return kNever;
  const Duration left = known->quantile(per_mille, so_far) - so_far;
  return s_.clock.now + (longest == kUnlimited ? left : std::min(left, std::max(r.time_limit - so_far, Duration())));
}

}  // namespace stint::sched
