// What goes into the scheduler and what comes out of it: events and decisions, as plain values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/money.h"
#include "base/time.h"
#include "sched/ids.h"

namespace stint::sched {

/// Batches of simultaneous events are applied in this order, then by job, then by node.
enum class EventKind : uint8_t {
  kPrice,       ///< `node` costs `price` from now on
  kNodeUp,      ///< `node` can be used (again)
  kFinished,    ///< `job` succeeded
  kFailed,      ///< `job` failed by itself: retried while it has retries
  kLost,        ///< `task` of `job` is gone and how is not known; its node can be used on
  kEvicted,     ///< a task of `job` that was told to leave has left; its resources are free now
  kCheckpoint,  ///< `job` has saved its work
  kMetric,      ///< `job`, a trial, has reached `rung` with `loss_micro`
  kNodeDrain,   ///< `node` takes no new tasks; what runs there goes on
  kSpotNotice,  ///< `node` will be gone at `until`; its tasks should save and leave
  kNodeDown,    ///< `node` is gone: its tasks ended as lost, but for work that ended at the same instant
  kNodeGone,    ///< likewise, and for good: the next node that is added gets its id
  kCancel,      ///< `job` is taken back, whatever its state
  kHold,        ///< `job` does not start before it is released; running, it goes on
  kRelease,     ///< `job` may start again
  kSubmit,      ///< `job` (added before with Scheduler::add) asks to run
  kTick,        ///< nothing happened but time
};

struct Event {
  EventKind kind = EventKind::kTick;
  JobId job;
  TaskId task;  ///< kEvicted, kLost
  NodeId node;
  Instant until;           ///< kSpotNotice
  Rate price = {};         ///< kPrice: of one GPU-hour
  int32_t rung = 0;        ///< kMetric: 0 … of its study's rungs
  int64_t loss_micro = 0;  ///< kMetric: in millionths, smaller is better
};

/// Where one task runs. A bit of `gpus` = that GPU of the node, whole or, with `milli` or `mig_profile`, a part of it.
struct Place {
  TaskId task;
  NodeId node;
  uint64_t gpus = 0;
  int32_t milli = 0;         ///< 1 … 999: that share of the one GPU in `gpus`
  int16_t mig_profile = -1;  ///< index into the GPU's MigGeometry::profiles
  int16_t mig_start = -1;    ///< first memory slice
  bool operator==(const Place&) const = default;
};

enum class DecisionKind : uint8_t {
  kStart,   ///< run the tasks of `job` at `places`, together
  kGrow,    ///< an elastic job gets the tasks at `places` in addition
  kEvict,   ///< the tasks at `places` save and leave; kEvicted answers. `for_job` gets the room
  kReject,  ///< `job` can never run here; the reason says why
  kSkip,    ///< `job` has succeeded without running: what it makes is there
};

enum class Reason : uint8_t {
  kFree,              ///< fits on what is free
  kBackfill,          ///< starts before an older job without delaying its reservation
  kHeld,              ///< on room that was freed for it
  kPriority,          ///< evicted by a job of the same queue with higher priority
  kReclaim,           ///< evicted: its queue holds more than its share, another asks for its own
  kConsolidation,     ///< moves so that a larger job fits
  kStaleGang,         ///< evicted: fewer than its minimum were left
  kSpotNotice,        ///< evicted: its node will be taken away
  kTimeLimit,         ///< evicted: ran for as long as it may
  kCancelled,         ///< evicted: taken back
  kHopelessTrial,     ///< stopped: among the worst of its rung
  kNeverFits,         ///< rejected: larger than any node, domain or limit
  kDependencyFailed,  ///< rejected: a job it waits for will not succeed
  kMadeAlready,       ///< skipped: another job has made what it makes
};

/// Valid until the next call of step().
struct Decision {
  DecisionKind kind = DecisionKind::kStart;
  Reason reason = Reason::kFree;
  JobId job;
  JobId for_job;  ///< kEvict: who gets the room; not valid = none
  std::span<const Place> places;
};

}  // namespace stint::sched
