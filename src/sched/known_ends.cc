#include "sched/known_ends.h"

#include <algorithm>

namespace stint::sched {

Instant KnownEnds::latest_end(JobId j) const {
  const JobRecord& r = s_.jobs[j];
  const Duration longest = r.longest_run();
  if (longest == kUnlimited) return kNever;
  return std::max(s_.clock.now, (r.phase == Phase::kRunning ? r.started : s_.clock.now) + longest);
}

void KnownEnds::began(JobId j) {
  JobRecord& r = s_.jobs[j];
  r.latest_end = s_.policy.backfill == Backfill::kNone ? kNever : latest_end(j);
  if (r.latest_end != kNever) ends_.insert({.rank = {.major = 0, .minor = r.latest_end.ns()}, .job = j});
}

void KnownEnds::stopped(JobId j) {
  const JobRecord& r = s_.jobs[j];
  if (r.latest_end != kNever) ends_.erase({.rank = {.major = 0, .minor = r.latest_end.ns()}, .job = j});
}

}  // namespace stint::sched
