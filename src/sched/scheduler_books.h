// All that a scheduler keeps, as values: a copy of it is a snapshot. Who writes what is said by the views of the classes beside it.
// Whoever adds a member names it in scheduler_snapshot.cc, and in scheduler_forget.cc when it knows of jobs or tasks.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "sched/backfill_book.h"
#include "sched/decision.h"
#include "sched/job_table.h"
#include "sched/place/gpu_models.h"
#include "sched/place/open_nodes.h"
#include "sched/place/placement_index.h"
#include "sched/place/price_tiers.h"
#include "sched/policy.h"
#include "sched/queues/pending.h"
#include "sched/queues/queue_budgets.h"
#include "sched/queues/queue_usage.h"
#include "sched/queues/running_order.h"
#include "sched/room_on_paper.h"
#include "sched/search_turns.h"
#include "sched/step_clock.h"
#include "sched/step_draft.h"
#include "sched/time_price.h"
#include "sched/timer_heap.h"
#include "sched/trials.h"

namespace stint::sched {

/// Machines, and what finds room on them.
struct FleetBook {
  Cluster cluster = {};
  OpenNodes open = {};
  PlacementIndex scores;               ///< of cluster.free()
  NodeBuckets capacity = {};           ///< nodes by their GPUs, usable or not
  std::vector<Rate> gpu_rates = {};    ///< by node, of one GPU
  PriceTiers price_tiers = {};         ///< nodes with GPUs by gpu_rates
  GpuModels gpu_models = {};           ///< nodes with GPUs by their model
  bool machines_may_come = false;      ///< see Scheduler::expect_machines
  std::vector<NodeId> unclaimed = {};  ///< scratch of Placer::unclaimed
};

/// What queues hold, deserve and spend.
struct AccountBook {
  QueueUsage queues;
  QueueBudgets budgets = {};
  std::vector<QueueBudgets::Wide> burns = {};  ///< by job, where there are budgets: nano-units per hour · thousandths of a GPU
};

/// Those that wait for room.
struct LineBook {
  Pending pending;
  bool waits_for_budget = false;         ///< a job has been kept waiting by a budget
  std::vector<uint64_t> failed_at = {};  ///< by shape: StepClock::room_made when its tasks were last tried in vain
  ShapeLine line = {};                   ///< scratch of Heads::try_in_order
  std::array<uint32_t, 5> searches{};    ///< scratch: made in this step, by SearchFor
};

/// Those that run, or have room that is coming.
struct RunBook {
  std::vector<JobId> held;               ///< jobs with promised room, in the order of the promises
  std::vector<JobId> growing;            ///< elastic jobs that run with fewer tasks than they could
  std::vector<uint64_t> grow_failed_at;  ///< as LineBook::failed_at, of elastic jobs that wanted a task more
  TimerHeap timers;                      ///< time limits, and when jobs may begin
};

/// Jobs of one array: so many may wait or run at once.
struct ArrayState {
  int32_t in_play = 0;
  size_t next = 0;               ///< in `held_back`
  std::vector<JobId> held_back;  ///< in order of arrival; those before `next` have come into play
};
/// What jobs of the same product make.
struct ProductState {
  bool made = false;
  JobId maker;                 ///< the one at work; not valid = none
  std::vector<JobId> waiting;  ///< for it, in order of arrival
};
/// Jobs that wait for jobs.
struct GateBook {
  std::vector<std::vector<JobId>> dependents;  ///< by job; as long as the last job somebody waits for
  std::vector<ArrayState> arrays;              ///< as long as the last that was submitted
  std::vector<ProductState> products;          ///< likewise
  std::vector<JobId> ended;                    ///< scratch: those whose followers have not been looked at
};

/// The cheapest slot of a deferrable job whose turn it is, which it may be several times at one instant.
struct KnownSlot {
  JobId job;
  Instant at;
  uint64_t fleet_changes = 0;  ///< StepClock::fleet_changes then
  std::optional<Slot> slot;
};
/// When jobs may start: prices that change, and hours of queues.
struct HourBook {
  std::vector<MarketPrices> prices;
  std::vector<Instant> opens;    ///< by queue: when jobs that wait for its hours may start; kNever = none does
  bool any_hours = false;        ///< has a queue ever been added that is closed at times?
  std::vector<KnownSlot> slots;  ///< scratch of StartTimes::slot_at_its_turn, by job modulo its size
};

/// A job that is told to leave for another and has new room already: tasks of no job keep it until it has left.
struct Move {
  JobId job;
  std::vector<TaskId> tasks;  ///< those that have a place to go to
  std::vector<TaskId> stand_ins;
  Amounts amounts;  ///< of all of them; its queue pays for it
};
struct MoveBook {
  std::vector<Move> moves;                          ///< in the order they were decided
  std::vector<std::vector<TaskId>> idle_stand_ins;  ///< by request: tasks of no job that keep nothing
};
struct ConsolidationBook {
  std::vector<Attempted> moved_for;  ///< by shape: the last vain search for jobs to move
  SearchTurns turns;                 ///< of those searches
  Instant ripens;                    ///< of the search that is going on, see Attempted
};
struct StopBook {
  RunningOrder running;                 ///< under preemptive orders, and where others may be stopped: running jobs
  TimerHeap level_timers;               ///< when running jobs reach their next level
  std::vector<Attempted> attempted;     ///< by shape: the last vain search for victims
  SearchTurns turns;                    ///< of those searches
  std::vector<JobId> newcomers;         ///< have become the first of their queue and shape, and were not tried since
  Attempted limits_tried;               ///< the last time that jobs whose queues' limits keep them were tried
  Instant ripens;                       ///< of the search that is going on, see Attempted
  int64_t too_large = INT64_MAX;        ///< the same
  int64_t waiting_gpu_milli = 0;        ///< asked for by all that wait, as of the last search
  int32_t lowest_priority = INT32_MAX;  ///< of all jobs ever added
  int32_t highest_priority = INT32_MIN;
  std::vector<JobId> claimed_in_vain;  ///< scratch: jobs that could reclaim nothing in this round of searches
  std::vector<JobId> claims_made;      ///< scratch: jobs for which this step has searched for a claim
  bool claims_left = false;            ///< scratch: more claims were worth a search than this step made
};

struct Victim {
  JobId job;
  Reason reason = Reason::kPriority;
};
/// A running job that may be stopped for the one that waits, under orders that choose among all of those.
struct MayLeave {
  Rank rank;  ///< see StopRules::leaving_rank
  Victim victim;
};
/// Scratch of searches for jobs to stop or to move.
struct VictimSketch {
  std::vector<MayLeave> may_leave;  ///< those that are being compared
  std::vector<Victim> victims;      ///< first to give way first
  std::vector<Amounts> taken;       ///< by queue: what victims of it, and of those below, would give back

  void begin() {
    may_leave.clear();
    victims.clear();
  }
};

struct SchedulerBooks {
  explicit SchedulerBooks(const Policy& policy);

  StepClock clock;
  FleetBook fleet;
  JobTable jobs;
  DurationBook durations;  ///< of jobs that have ended
  AccountBook accounts;
  LineBook line;
  RunBook runs;
  GateBook gates;
  HourBook hours;
  std::vector<Asha> studies;
  BackfillBook backfill;
  StopBook stopping;
  ConsolidationBook consolidation;
  MoveBook moving;

  StepDraft draft;            ///< this step's decisions
  std::vector<Event> events;  ///< scratch: this step's in order, where they came in another
  VictimSketch sketch;
  RoomOnPaper::Scratch paper;
};

}  // namespace stint::sched
