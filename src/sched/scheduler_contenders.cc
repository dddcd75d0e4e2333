#include "sched/scheduler_contenders.h"

namespace stint::sched {

void Contenders::rank_running(JobId j) {
  JobRecord& r = s_.jobs[j];
  r.rank = s_.rules.running_rank(j);
  book_.running.insert({.rank = r.rank, .job = j});
  if (s_.policy.order != Order::kStint) return;
  const Duration so_far = r.served + (s_.clock.now - r.started);
  const Duration end = end_of_level(level_of(so_far));
  if (end == kUnlimited) return;
  s_.jobs.set_timer(book_.level_timers, s_.clock.now + (end - so_far), j, TimerKind::kLevel);
}

void Contenders::began(JobId j) {
  if (s_.rules.ranks_running()) rank_running(j);
}

void Contenders::stopped(JobId j) {
  if (s_.rules.ranks_running()) book_.running.erase({.rank = s_.jobs[j].rank, .job = j});
}

void Contenders::saved_work(JobId j) {
  if (!s_.rules.ranks_running()) return;
  ++s_.clock.changes;  // it may be stopped at little cost now
  if (is_preemptive(s_.policy.order)) return;
  book_.running.erase({.rank = s_.jobs[j].rank, .job = j});
  rank_running(j);
}

void Contenders::fire_level_timers() {
  while (!book_.level_timers.empty() && book_.level_timers.top().at <= s_.clock.now) {
    const Timer timer = book_.level_timers.pop();
    const JobRecord& r = s_.jobs[timer.job];
    if (timer.starts != r.starts || r.phase != Phase::kRunning) continue;
    ++s_.clock.changes;
    book_.running.erase({.rank = r.rank, .job = timer.job});
    rank_running(timer.job);
  }
}

void Contenders::note_newcomer(JobId j) {
  const bool by_priority = s_.policy.preempt && book_.lowest_priority < s_.jobs.terms_of(j).priority;
  if ((by_priority || s_.rules.reclaims()) && leads_its_queue(j)) book_.newcomers.push_back(j);
}

bool Contenders::leads_its_queue(JobId j) const {
  const JobRecord& r = s_.jobs[j];
  return r.phase == Phase::kWaiting && s_.pending.leads(s_.queues, r.queue, r.shape, j);
}

}  // namespace stint::sched
