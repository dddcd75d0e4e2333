// Jobs as they are submitted: plain values, small enough to copy by the million. What only some jobs have (sub-groups,
// topology, tasks that differ) lies in an interned Gang beside them.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/time.h"
#include "sched/durations/duration_book.h"
#include "sched/ids.h"
#include "sched/request.h"

namespace stint::sched {

/// All tasks of the gang, or of one group, in one domain of a node label.
struct TopologyWish {
  std::string required_level;       ///< node label; empty = none. Inside one domain of it, or not at all
  std::string preferred_level;      ///< the narrowest domain that fits, up to this level; may be exceeded
  std::vector<std::string> levels;  ///< node labels from widest to narrowest
  bool operator==(const TopologyWish&) const = default;
};

/// A tree of sub-groups, parents before children. Leaves hold tasks.
struct GangGroup {
  int32_t parent = -1;    ///< index into Gang::groups; −1 = the job itself
  int32_t min_tasks = 0;  ///< leaves: fewer never run
  TopologyWish topology;
  bool operator==(const GangGroup&) const = default;
};

/// One task of a Gang, where tasks differ.
struct GangTask {
  RequestId request;
  int32_t group = -1;    ///< leaf it belongs to; −1 = the job itself
  int32_t priority = 0;  ///< inside the job, higher first
  bool operator==(const GangTask&) const = default;
};

struct Gang {
  TopologyWish topology;
  std::vector<GangGroup> groups;
  std::vector<GangTask> tasks;  ///< as many as the job has tasks; empty = all alike
  bool operator==(const Gang&) const = default;
};

/// "No such time": no deadline, no limit.
inline constexpr Instant kNever = Instant::from_ns(std::numeric_limits<int64_t>::max());
inline constexpr Duration kUnlimited = Duration::nanoseconds(std::numeric_limits<int64_t>::max());

/// How much is lost when the job is stopped, and how it comes back.
struct CheckpointBehaviour {
  Duration interval = kUnlimited;  ///< work between two checkpoints; kUnlimited = never: all is lost
  Duration save;                   ///< time one checkpoint takes
  Duration restart;                ///< from start to the first useful work after an eviction
  bool operator==(const CheckpointBehaviour&) const = default;
};

/// What a job asks for that it usually has in common with many others; the scheduler keeps it once for all of them.
struct JobTerms {
  RequestId request;  ///< of every task, unless the gang says otherwise
  GangId gang;        ///< not valid = `tasks` equal tasks, no groups, no topology
  int32_t tasks = 1;
  int32_t min_tasks = 1;  ///< fewer never run; less than `tasks` = elastic
  int32_t priority = 50;  ///< higher first
  bool preemptible = true;
  bool deferrable = false;    ///< may wait for a cheap hour as long as it can end by its deadline
  Instant not_before;         ///< begins at this instant or later; the past = at once
  Instant deadline = kNever;  ///< should have ended by then
  Duration min_runtime;       ///< not evicted before it has run this long
  int32_t retries = 0;        ///< starts again after that many failures
  CheckpointBehaviour checkpoint;
  StudyId study;             ///< a trial of it: stopped when it is hopeless
  std::vector<JobId> after;  ///< starts when all of these have succeeded; empty for nearly all
  ArrayId array;             ///< not valid = none
  int32_t at_once = 0;       ///< so many jobs of its array may wait or run, the rest come as those end; 0 = all
  /// Jobs of one product make the same thing: one is at work, the others wait for it and are skipped when it has succeeded.
  ProductId makes;  ///< not valid = nothing that another could use
  bool operator==(const JobTerms&) const = default;
};

struct JobSpec : JobTerms {
  QueueId queue;
  Instant submitted;                 ///< when it began to wait, where that was before its kSubmit; the epoch = then
  Duration time_limit = kUnlimited;  ///< of running; backfill relies on it
  Duration expected = kUnlimited;    ///< how long it will run, where somebody knows (an oracle, whoever submits it)
  Kin kin;                           ///< whose jobs it is like; its end is learnt from where that is known
};

}  // namespace stint::sched
