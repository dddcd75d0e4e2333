// Explanation: why a job is where it is, as data that a terminal, a page or an API can put into words.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "base/time.h"
#include "sched/durations/run_forecast.h"
#include "sched/ids.h"

namespace stint::sched {

enum class Standing : uint8_t { kUnknown, kWaiting, kReserved, kNominated, kRunning, kEnded };

enum class Obstacle : uint8_t {
  kNone,
  kOnHold,        ///< somebody keeps it from starting
  kNotBefore,     ///< its own not_before has not come
  kDeferred,      ///< it may wait for a cheaper hour, and does
  kDependency,    ///< waits for another job
  kBeingMade,     ///< another job is making what it makes
  kArray,         ///< as many jobs of its array as may be are waiting or running
  kClosed,        ///< its queue, or one above it, starts nothing at this hour
  kQueueLimit,    ///< its queue, or one above it, is at its limit
  kBudget,        ///< its queue, or one above it, has spent its budget: `budget`
  kGuarantee,     ///< a non-preemptible job of a queue that holds all it deserves
  kNoRoom,        ///< too little is free: `missing_gpu_milli`
  kFragmented,    ///< enough is free in sum, but on no set of nodes that fits
  kOthersShares,  ///< GPUs have that part left, but others with whom it does not share hold parts of them
  kSlowed,        ///< likewise, but beside those on them it or they would be slowed by more than allowed
  kConstraint,    ///< no node matches its model, labels, affinity or topology at all
  kBehindGang,    ///< room is kept for a reservation it would delay
  kBehindOrder,   ///< others go first and take the room
};
std::string_view name_of(Obstacle o);

enum class RemedyKind : uint8_t {
  kMoreGpus,        ///< `amount` more free GPUs on one node (or one more node) start it now
  kEvictLower,      ///< stopping `job` (lower priority) starts it now; where it is of `other_queue` only a person does that
  kWait,            ///< at `at` it starts as things stand
  kHigherPriority,  ///< at priority `amount` it starts now: jobs of its own queue give way
  kNotDeferred,     ///< not put off to a cheaper hour it starts now
  kRaiseLimit,      ///< its queue's limit must be raised by `amount` milli-GPU
  kRaiseBudget,     ///< the budget must be raised by more than `cost`: what it is overdrawn by, and this job where known
};
std::string_view name_of(RemedyKind k);

struct Remedy {
  RemedyKind kind = RemedyKind::kWait;
  int64_t amount = 0;
  JobId job;
  QueueId other_queue;  ///< kEvictLower: that of `job`, where it is another: priority counts inside a queue
  Instant at;
  /// kMoreGpus: for as long as the job runs at the longest; kEvictLower, kHigherPriority: of the lost work; kWait: nothing;
  /// kNotDeferred: by how much it is dearer, for the longest it may run.
  /// None = a price or a duration is not known.
  std::optional<Money> cost;
  std::optional<Rate> per_hour;  ///< kMoreGpus: of the machines
  NodeId like;                   ///< kMoreGpus: the cheapest machine that would do, where prices are known …
  int32_t machines = 0;          ///< … and how many of it
  /// kEvictLower, kHigherPriority: work that would have to be done again since the last checkpoints, and restarts.
  int64_t lost_gpu_seconds = 0;
};

/// What a queue has spent of its budget, and when that ends as things stand.
struct BudgetStanding {
  QueueId queue;
  Money budget;                        ///< for this period
  Money spent;                         ///< in this period, rounded down to the nano-unit
  Rate burn;                           ///< of all that runs in it now, per hour
  std::optional<Instant> runs_out_at;  ///< at this burn; none = not before it is renewed; now = it has
  std::optional<Instant> renewed_at;   ///< none = never
};

/// How long a job is thought to run in all.
struct ExpectedRun {
  Duration typical;  ///< half of those like it end by then
  Duration low;      ///< eight in ten lie between these
  Duration high;
  int64_t like = 0;  ///< jobs it rests on; 0 = the job says so itself
  Likeness likeness = Likeness::kAny;
};
/// When it is thought to start: a guess, that jobs which come later, or end sooner, may change.
struct LikelyStart {
  Instant at;        ///< if all before it run as half of those like them do
  Instant earliest;  ///< if as short as the shortest quarter
  Instant latest;    ///< if as long as the longest quarter
};

/// It may start now and is put off: what that saves.
struct Deferral {
  Instant latest_start;           ///< later it could miss its deadline
  Money cost;                     ///< of its GPUs from the start it waits for, for the longest it may run
  std::optional<Money> cost_now;  ///< of those begun now; none = not known
};

struct Explanation {
  Standing standing = Standing::kUnknown;
  Obstacle obstacle = Obstacle::kNone;
  QueueId at_queue;                      ///< kClosed, kQueueLimit, kBudget, kGuarantee
  std::optional<BudgetStanding> budget;  ///< kBudget
  std::optional<Deferral> deferral;      ///< kDeferred
  JobId behind;                          ///< kDependency, kBeingMade, kBehindGang, kBehindOrder
  int64_t missing_gpu_milli = 0;         ///< kNoRoom
  int64_t jobs_ahead = 0;                ///< waiting jobs that go before it
  std::optional<ExpectedRun> expected;
  std::optional<LikelyStart> likely_start;  ///< by what is learnt of all that run or go before it; none = cannot be said
  std::optional<Instant> starts_at;         ///< as things stand, if running jobs end at their limits; none = cannot be said
  std::vector<Remedy> remedies;             ///< cheapest first; those whose cost is not known last
};

}  // namespace stint::sched
