#include "daemon/engine/engine_books.h"

#include <algorithm>

namespace stint {

sched::JobId find_job(std::span<const JobBook> jobs, int64_t id) {
  const auto at = std::ranges::lower_bound(jobs, id, {}, &JobBook::id);
  return at != jobs.end() && at->id == id ? sched::JobId(static_cast<uint32_t>(at - jobs.begin())) : sched::JobId();
}

const PlacedTask* find_placed(std::span<const JobBook> jobs, const LaunchKey& key) {
  const sched::JobId job = find_job(jobs, key.job);
  if (!job.valid()) return nullptr;
  const std::vector<PlacedTask>& placed = jobs[job.index()].placed;
  const auto at =
      std::ranges::find_if(placed, [&](const PlacedTask& t) { return t.task == key.task && t.attempt == key.attempt; });
  return at == placed.end() ? nullptr : &*at;
}

const std::string& client_of(const FleetConfig& fleet, sched::QueueId q) {
  while (fleet.queues[q.index()].parent.valid())
    q = fleet.queues[q.index()].parent;
  return fleet.queues[q.index()].name;
}

}  // namespace stint
