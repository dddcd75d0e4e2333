#include "sched/scheduler_stop_rules.h"

#include <algorithm>

namespace stint::sched {
namespace {

constexpr Duration kMargin = Duration::minutes(10);
constexpr Duration kShortestQuantum = Duration::minutes(2);
constexpr int64_t kQuantumPerLoss = 5;                // at most a sixth of the time is lost by taking turns
constexpr Duration kLongEnough = Duration::hours(1);  // who ran for so long was not cut short
constexpr Duration kFirstTerm = Duration::minutes(2);
constexpr int kMostDoublings = 3;
constexpr Duration kLeastTerm = Duration::minutes(1);  // of one that started while who stops it waited already

/// Of ranks, which are INT64_MAX where it is not known how long a job runs.
int64_t capped_sum(int64_t rank, int64_t more) {
  int64_t sum = 0;
  return __builtin_add_overflow(rank, more, &sum) ? INT64_MAX : sum;
}

constexpr size_t kMostTakenBack = 8;  // starts of one job in one step, so that steps end; a further one stands

}  // namespace

StopRules::StopRules(const View& view, StopBook& book)
    : s_(view),
      book_(book),
      may_reclaim_(s_.policy.reclaim && (queue_rule(s_.policy.order) == QueueRule::kByShare || !is_preemptive(s_.policy.order))),
      shares_fairly_(s_.policy.shares == ShareRule::kFair) {}

bool StopRules::ranks_running() const { return is_preemptive(s_.policy.order) || s_.policy.preempt || s_.policy.reclaim; }

Rank StopRules::victim_bound(JobId j) const {
  const Rank rank = s_.jobs[j].rank;
  // Remaining times of running jobs are kept as the instants they end at.
  if (s_.policy.order == Order::kSrtf) return {.major = rank.major, .minor = capped_sum(rank.minor, s_.clock.now.ns())};
  return {.major = rank.major, .minor = capped_sum(rank.minor, kMargin.count_ns())};
}

Rank StopRules::leaving_rank(JobId j) const {
  const JobTerms& spec = s_.jobs.terms_of(j);
  const Instant since =
      s_.policy.victims == VictimOrder::kLeastLostWork ? work_kept_at(j) - spec.checkpoint.restart : s_.jobs[j].started;
  return {.major = -spec.priority, .minor = since.ns()};
}

Rank StopRules::running_rank(JobId j) const {
  if (!is_preemptive(s_.policy.order)) return leaving_rank(j);
  const JobRecord& r = s_.jobs[j];
  Rank rank = s_.forecasts.rank_after(j, r.served + (s_.clock.now - r.started));
  if (s_.policy.order == Order::kSrtf) rank.minor = capped_sum(rank.minor, s_.clock.now.ns());
  return rank;
}

bool StopRules::other_grounds() const {
  return (s_.policy.preempt && book_.lowest_priority < book_.highest_priority) || reclaims();
}

/// Would the running job, stopped, wait ahead of that rank? Where age makes up for priority, one of lower priority may; if it
/// were stopped it would come back first, and so for ever.
bool StopRules::goes_first_again(JobId j, const Rank& rank) const {
  if (s_.policy.ageing.count_ns() == 0 || queue_rule(s_.policy.order) != QueueRule::kByShare) return false;
  const JobRecord& r = s_.jobs[j];
  return s_.forecasts.rank_after(j, r.served + (s_.clock.now - r.started)) < rank;
}

/// How long it runs after its start before others stop it.
Duration StopRules::term_of(JobId j) const {
  const JobRecord& r = s_.jobs[j];
  const int cut_short = std::max<int>(r.cut_short, r.freed_for ? 1 : 0);  // others were not stopped for nothing
  const Duration term = cut_short == 0 ? Duration() : kFirstTerm * (int64_t{1} << (cut_short - 1));
  return std::max(term, s_.jobs.terms_of(j).min_runtime);
}

bool StopRules::may_drop_start(JobId v) const {
  if (s_.jobs[v].started != s_.clock.now || s_.draft.times_taken_back(v) >= kMostTakenBack) return false;
  const Decision* const start = s_.draft.start_of(v);
  if (start == nullptr || start->reason == Reason::kHeld) return false;
  const auto wants_neighbours = [&](const Decision& d) {
    return d.job != v && d.kind == DecisionKind::kStart && std::ranges::any_of(s_.jobs.tasks_of(d.job), [&](const Task& t) {
             return !s_.cluster.request(t.request).affinity.empty();
           });
  };
  return !s_.jobs.is_neighbour(v) || std::ranges::none_of(s_.draft.decisions(), wants_neighbours);
}

void StopRules::note_cut_short(JobId j) {
  JobRecord& r = s_.jobs[j];
  const int before = s_.clock.now - r.started < kLongEnough ? r.cut_short : 0;
  r.cut_short = static_cast<uint8_t>(std::min(before, kMostDoublings) + 1);
}

std::optional<Reason> StopRules::ground_to_stop(JobId j, JobId victim, const Rank& bound) const {
  const JobRecord& r = s_.jobs[j];
  const JobRecord& v = s_.jobs[victim];
  const JobTerms& spec = s_.jobs.terms_of(victim);
  if (v.phase != Phase::kRunning || !spec.preemptible) return std::nullopt;
  const bool is_older = s_.policy.order != Order::kSrtf && r.submitted <= v.started;
  const auto after = [&](Duration runtime, Reason ground) {
    if (is_older) runtime = std::max(runtime, kLeastTerm);
    if (s_.clock.now - v.started >= runtime || may_drop_start(victim)) return std::optional(ground);
    book_.ripens = std::min(book_.ripens, v.started + runtime);
    return std::optional<Reason>();
  };
  if (s_.policy.preempt && r.queue == v.queue && spec.priority < s_.jobs.terms_of(j).priority &&
      !goes_first_again(victim, r.rank))
    return after(term_of(victim), Reason::kPriority);
  if (s_.policy.shares == ShareRule::kFair) {
    if (reclaims() && r.queue != v.queue && s_.accounts.may_claim_fairly(j)) return after(term_of(victim), Reason::kReclaim);
  } else if (reclaims() && s_.queues.may_reclaim(r.queue, s_.jobs.shape(r.shape).total, v.queue, s_.sketch.taken)) {
    return after(term_of(victim), Reason::kReclaim);
  }
  if (!is_preemptive(s_.policy.order) || !s_.policy.preempt || v.rank <= bound) return std::nullopt;
  const bool its_turn =
      r.queue == v.queue || queue_rule(s_.policy.order) == QueueRule::kOneLine || s_.queues.compare(r.queue, v.queue) < 0;
  if (!its_turn) return std::nullopt;
  if (reclaims() && s_.queues.is_guaranteed(v.queue, s_.jobs.shape(v.shape).total, r.queue)) return std::nullopt;
  if (s_.policy.order != Order::kStint) return after(spec.min_runtime, Reason::kPriority);
  if (spec.checkpoint.interval == kUnlimited) return std::nullopt;
  if (const int64_t size = s_.jobs.shape(v.shape).total.gpu_milli; size > book_.waiting_gpu_milli) {
    book_.too_large = std::min(book_.too_large, size);
    return std::nullopt;
  }
  const Duration quantum = std::max(kShortestQuantum, lost_if_stopped(victim) * kQuantumPerLoss);
  return after(std::max(quantum, term_of(victim)), Reason::kPriority);
}

}  // namespace stint::sched
