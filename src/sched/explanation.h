// Explanation: why a job is where it is, as data that a terminal, a page or an API can put into words.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "base/time.h"
#include "sched/ids.h"

namespace stint::sched {

enum class Standing : uint8_t { kUnknown, kWaiting, kReserved, kNominated, kRunning, kEnded };

enum class Obstacle : uint8_t {
  kNone,
  kNotBefore,    ///< its own not_before has not come
  kDependency,   ///< waits for another job
  kBeingMade,    ///< another job is making what it makes
  kArray,        ///< as many jobs of its array as may be are waiting or running
  kQueueLimit,   ///< its queue, or one above it, is at its limit
  kGuarantee,    ///< a non-preemptible job of a queue that holds all it deserves
  kNoRoom,       ///< too little is free: `missing_gpu_milli`
  kFragmented,   ///< enough is free in sum, but on no set of nodes that fits
  kConstraint,   ///< no node matches its model, labels, affinity or topology at all
  kBehindGang,   ///< room is kept for a reservation it would delay
  kBehindOrder,  ///< others go first and take the room
};
std::string_view name_of(Obstacle o);

enum class RemedyKind : uint8_t {
  kMoreGpus,        ///< `amount` more free GPUs on one node (or one more node) start it now
  kEvictLower,      ///< stopping `job` (lower priority) starts it now
  kWait,            ///< at `at` it starts as things stand
  kHigherPriority,  ///< at priority `amount` it starts now
  kRaiseLimit,      ///< its queue's limit must be raised by `amount` milli-GPU
};
std::string_view name_of(RemedyKind k);

struct Remedy {
  RemedyKind kind = RemedyKind::kWait;
  int64_t amount = 0;
  JobId job;
  Instant at;
  std::optional<Money> cost;  ///< of the remedy, where prices are known
};

struct Explanation {
  Standing standing = Standing::kUnknown;
  Obstacle obstacle = Obstacle::kNone;
  QueueId at_queue;                  ///< kQueueLimit, kGuarantee
  JobId behind;                      ///< kDependency, kBeingMade, kBehindGang, kBehindOrder
  int64_t missing_gpu_milli = 0;     ///< kNoRoom
  int64_t jobs_ahead = 0;            ///< waiting jobs that go before it
  std::optional<Instant> starts_at;  ///< as things stand, if running jobs end at their limits; none = cannot be said
  std::vector<Remedy> remedies;      ///< cheapest first
};

}  // namespace stint::sched
