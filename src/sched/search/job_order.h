// Which job goes first, over the whole tree of queues; and, in reverse, which gives way first.
//
// Going first: at every level of the tree the queue that QueueTree::compare puts first; in a queue the higher priority, then
// jobs below their minimum, then those exactly at it, then those above; then the older.
#pragma once

#include <concepts>
#include <optional>
#include <span>
#include <vector>

#include "sched/search/state.h"

namespace stint::sched {

/// How many tasks a job has against its minimum.
enum class Fill : uint8_t { kBelow, kExact, kAbove };
Fill fill_of(const State& state, JobId j);

/// Jobs that wait, each handed out once unless put back; the order follows what queues hold at each call.
class WaitingJobs {
 public:
  /// All jobs with something to place, for which `wanted` holds.
  template <std::predicate<JobId> Wanted>
  WaitingJobs(const State& state, Wanted&& wanted) : state_(state), by_queue_(state.queues().size()) {
    for (uint32_t j = 0; j < state.job_count(); ++j)
      if (wanted(JobId(j))) put_back(JobId(j));
  }
  WaitingJobs(const State& state, std::span<const JobId> jobs) : state_(state), by_queue_(state.queues().size()) {
    for (const JobId j : jobs)
      put_back(j);
  }
  /// Does nothing when the job has nothing to place.
  void put_back(JobId j);
  std::optional<JobId> take();

 private:
  struct Entry {
    JobId job;
    Amounts need;
    int32_t priority = 0;
    Fill fill = Fill::kBelow;
    bool operator<(const Entry& o) const;
  };
  [[nodiscard]] const Entry* first_below(QueueId q) const;

  const State& state_;
  std::vector<std::vector<Entry>> by_queue_;  // the first to go at the back
};

}  // namespace stint::sched
