// The scheduler's state, shared by its parts: scheduler.cc (interface, the loop), scheduler_events.cc (what happened),
// scheduler_decide.cc (what follows). Backfilling, Preemption with its StopRules, Consolidation and Moves are classes over it, made where
// they are needed; what they keep lies here as books. All of it is values, so that a copy is a snapshot. Whoever adds a member names it in
// scheduler_snapshot.cc, and in scheduler_forget.cc when it knows of jobs or tasks.
#pragma once

#include <array>
#include <vector>

#include "sched/backfill_book.h"
#include "sched/place/gpu_models.h"
#include "sched/place/open_nodes.h"
#include "sched/place/place_gang.h"
#include "sched/place/placement_index.h"
#include "sched/place/price_tiers.h"
#include "sched/queues/order.h"
#include "sched/queues/pending.h"
#include "sched/queues/queue_budgets.h"
#include "sched/queues/queue_usage.h"
#include "sched/queues/running_order.h"
#include "sched/queues/terms_table.h"
#include "sched/room_on_paper.h"
#include "sched/scheduler.h"
#include "sched/search/victims.h"
#include "sched/search_turns.h"
#include "sched/shape.h"
#include "sched/step_draft.h"
#include "sched/timer_heap.h"

namespace stint::sched {

enum class Phase : uint8_t {
  kKnown,    ///< added, not submitted
  kNotYet,   ///< submitted; waits for another job or for its time
  kWaiting,  ///< in Pending
  kOnHold,   ///< could wait for room, but somebody keeps it from starting
  kHeld,     ///< has room that others are leaving
  kRunning,  ///< some of its tasks may be leaving
  kLeaving,  ///< all that is left of it is leaving
  kEnded,
};

/// Hot record of a job: two cache lines.
struct alignas(64) JobRecord {
  ShapeId shape;
  QueueId queue;
  TermsId terms;
  uint32_t first_task = 0;
  int32_t running = 0;  ///< tasks
  int32_t leaving = 0;
  int32_t held = 0;
  Phase phase = Phase::kKnown;
  bool succeeded = false;
  bool in_play = false;         ///< counts in its array
  bool ends_when_left = false;  ///< does not come back after its eviction
  bool on_hold = false;         ///< does not wait for room before it is released
  bool admitted = false;        ///< held: others leave for it, or it moves; it starts whatever its queue has spent
  bool freed_for = false;       ///< others left for its last start
  uint8_t cut_short = 0;        ///< starts in a row that ended early because others were to have its room
  int32_t failures = 0;
  int32_t blockers = 0;              ///< jobs it waits for
  uint32_t starts = 0;               ///< dates timers
  int32_t rungs = 0;                 ///< of its study that it has reached
  uint32_t present_at = UINT32_MAX;  ///< index in Impl::present; UINT32_MAX = has no task on a node
  Rank rank;                         ///< as pushed to Pending, or of the running job
  Instant latest_end;                ///< while running: as in Impl::ends; kNever = not there
  Instant submitted;
  Instant started;
  Instant saved;    ///< last checkpoint; `started` when there was none since
  Duration served;  ///< running time of its earlier starts
  Duration time_limit = kUnlimited;
  Duration expected = kUnlimited;

  /// kUnlimited = not known.
  [[nodiscard]] Duration longest_run() const { return std::min(time_limit, expected); }
};
static_assert(sizeof(JobRecord) == 128);

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

struct Victim {
  JobId job;
  Reason reason = Reason::kPriority;
};
/// A running job that may be stopped for the one that waits, under orders that choose among all of those.
struct MayLeave {
  Rank rank;  ///< see Impl::leaving_rank
  Victim victim;
};
/// The cheapest slot of a deferrable job whose turn it is, which it may be several times at one instant.
struct KnownSlot {
  JobId job;
  Instant at;
  uint64_t fleet_changes = 0;  ///< Impl::fleet_changes then
  std::optional<Slot> slot;
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
/// On which grounds others are stopped.
enum class Ground : uint8_t { kAny, kReclaim, kPriority };
/// What one step makes a bounded number of searches for, each. Claims: by Ground::kReclaim alone.
enum class SearchFor : uint8_t { kStop, kStopOfNewcomer, kClaim, kClaimOfNewcomer, kMove };

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

/// What has become of the head of a shape.
enum class Tried : uint8_t {
  kStarted,  ///< it runs: shares, and so the order, may have changed
  kClosed,   ///< its queue keeps it waiting: another may be the shape's head now
  kInVain,   ///< nothing has changed
  kEnough,   ///< no others are to be tried
};

inline TaskId next(TaskId t) { return TaskId(t.index() + 1); }

struct Scheduler::Impl {
  explicit Impl(const Policy& p)
      : policy(p),
        shapes(counts_only(p.placement) && p.shares == ShareRule::kDeserved),
        queues(queue_rule(p.order) == QueueRule::kByShare, p.usage_half_life, p.shares == ShareRule::kFair),
        pending(line_rule(p)),
        scores(p.placement, p.seed) {}

  Policy policy;
  Cluster cluster;
  ShapeTable shapes;
  QueueUsage queues;
  QueueBudgets budgets;
  Pending pending;
  OpenNodes open;
  PlacementIndex scores;  ///< of cluster.free()
  NodeBuckets capacity;   ///< nodes by their GPUs, usable or not

  TermsTable terms;
  std::vector<JobRecord> jobs;
  DurationBook durations;                      ///< of jobs that have ended
  std::vector<Kin> kins;                       ///< by job; as long as the last job whose kin is known
  std::vector<Rate> gpu_rates;                 ///< by node, of one GPU
  PriceTiers price_tiers;                      ///< nodes with GPUs by gpu_rates
  GpuModels gpu_models;                        ///< nodes with GPUs by their model
  std::vector<QueueBudgets::Wide> burns;       ///< by job, where there are budgets: nano-units per hour · thousandths of a GPU
  bool waits_for_budget = false;               ///< a job has been kept waiting by a budget
  std::vector<JobId> held;                     ///< jobs with promised room, in the order of the promises
  std::vector<std::vector<JobId>> dependents;  ///< by job; as long as the last job somebody waits for
  std::vector<ArrayState> arrays;              ///< as long as the last that was submitted
  std::vector<ProductState> products;          ///< likewise
  std::vector<JobId> present;                  ///< jobs with tasks on nodes, in a reproducible order
  std::vector<JobId> growing;                  ///< elastic jobs that run with fewer tasks than they could
  TimerHeap timers;                            ///< time limits, and when jobs may begin
  BackfillBook backfill;
  StopBook stopping;
  ShapeLine line;                        ///< scratch of try_in_order
  std::vector<KnownSlot> slots;          ///< scratch of slot_at_its_turn, by job modulo its size
  uint64_t fleet_changes = 1;            ///< grows when a node comes, goes or is drained
  std::vector<uint64_t> failed_at;       ///< by shape: `room_made` when its tasks were last tried in vain
  std::vector<uint64_t> grow_failed_at;  ///< the same of elastic jobs that wanted a task more
  uint64_t room_made = 1;                ///< grows with all that may let a task be placed: one leaves, a node comes
  ConsolidationBook consolidation;
  MoveBook moving;
  std::vector<Asha> studies;
  std::vector<MarketPrices> prices;
  std::vector<Instant> opens;      ///< by queue: when jobs that wait for its hours may start; kNever = none does
  bool machines_may_come = false;  ///< see Scheduler::expect_machines
  bool any_hours = false;          ///< has a queue ever been added that is closed at times?
  bool any_movable = false;        ///< has a job ever been added that could be moved?
  bool has_parts_of_gpus = false;  ///< and one that asks for less than a whole GPU?
  uint64_t changes = 1;            ///< grows with everything that may let such a search find something
  Instant now;

  std::vector<Event> events;           ///< scratch: this step's in order, where they came in another
  std::vector<JobId> ended;            ///< scratch: those whose followers have not been looked at
  StepDraft draft;                     ///< this step's decisions
  std::array<uint32_t, 5> searches{};  ///< scratch: made in this step, by SearchFor
  VictimSketch sketch;
  RoomOnPaper::Scratch paper;
  std::vector<NodeId> unclaimed_nodes;

  // scheduler_events.cc
  void apply(const Event& e);
  void submit(JobId j);
  void wait(JobId j);
  void saved_work(JobId j);
  void reached_rung(JobId j, int32_t rung, int64_t loss_micro);
  void finished(JobId j);
  void failed(JobId j);
  void task_left(TaskId t);
  void cancel(JobId j);
  void drain(NodeId n);
  void lose_node(NodeId n);
  void remove_node(NodeId n);
  void lose_task(TaskId t);
  void lose(TaskId t, Amounts& lost);
  void hold(JobId j);
  void let_start(JobId j);
  void after_loss(JobId j);
  void allow_grace(JobId j);
  void came_off(JobId j);
  void clear_node(NodeId n);
  void give_up_held(NodeId n);
  void change_price(NodeId n, Rate gpu_rate);
  std::vector<JobId> jobs_on(NodeId n) const;
  void fire_timers();

  // scheduler_adopt.cc
  bool adopt(JobId j, std::span<const FoundTask> found);

  // scheduler_pipeline.cc
  void wait_for_others(JobId j);
  void become_ready(JobId j);
  bool is_its_turn(JobId j);
  [[nodiscard]] bool is_past_gates(JobId j) const;
  bool is_to_make(JobId j);
  void come_into_play(JobId j);
  void end(JobId j, bool success);
  void reject(JobId j, Reason reason);
  void skip(JobId j);
  void call_dependents(JobId j);
  void call_next_of_array(JobId j);
  void settle_product(JobId j);

  // scheduler_decide.cc
  void decide();
  bool free_room();
  void promise_leaving_room();
  void start_all();
  void start_with_neighbours();
  template <typename MayTry, typename TryHead>
  void try_in_order(MayTry&& may_try, TryHead&& try_head);
  bool fits(ShapeId s) const;
  int32_t tasks_within_limits(JobId j) const;
  Amounts least_amounts(JobId j) const;
  bool close_if_limited(JobId j);
  bool start(JobId j, Reason reason);
  bool start_on_open(JobId j, Reason reason);
  void start_held(Reason reason);
  void give_up(JobId j);
  void give_up_unpaid();
  void give_up_lonely();
  bool can_start_held(JobId j);
  void start_on_held_room(JobId j, Reason reason);
  void grow();
  bool grow_one(JobId j);
  bool grow_on_open(JobId j);
  bool grow_in_detail(JobId j);
  void evict(JobId j, Reason reason, JobId for_job);
  void began(JobId j);
  void begin_to_hold(JobId j);
  void finish_holding(JobId j);
  bool may_drop_start(JobId v) const;
  bool take_back_start(JobId v);
  static constexpr uint32_t kMostSearches = 128;                        // of each kind in one step
  static constexpr Duration kSearchesGoOnAfter = Duration::seconds(1);  // in the next step
  bool may_search(SearchFor what);
  bool is_neighbour(JobId j) const;

  // scheduler_place.cc
  PickPlace picker();
  bool goes_by_price(const Request& request) const;
  std::vector<int32_t> models_for(JobId j) const;
  int32_t model_for_all(JobId j) const;
  PickPlace cheapest_picker();
  NodeId open_node(int32_t gpus, bool by_price, int32_t model) const;
  std::optional<Place> pick_place(const Cluster& c, RequestId r, Room room, const Scope& scope);
  void observe(JobId j);
  Amounts place_tasks(JobId j, int32_t at_most);
  std::optional<Amounts> place_in_detail(JobId j);
  bool fits_idle_fleet(JobId j) const;
  bool nominate_in_detail(JobId j);
  Scope unclaimed(const Scope& scope);

  // scheduler_room.cc
  void divide_shares();
  bool may_claim_fairly(JobId j) const;
  void leave(JobId v);
  std::vector<TaskId> tasks_to_place(JobId j) const;
  Amounts amounts_of(std::span<const TaskId> tasks) const;
  bool place_together(JobId j, std::span<const TaskId> tasks, Room room);
  JobRun run_of(JobId j);
  State state_of_search(JobId j, std::span<const Victim> others);
  bool could_fit_without(JobId j, std::span<const Victim> others);
  std::optional<RoomPlan> plan_room(JobId j, std::span<const Victim> others, const RoomRules& rules);
  std::vector<Victim> those_to_stop(JobId j);
  bool make_room_in_detail(JobId j, Ground ground);
  std::optional<RoomPlan> plan_reclaim(JobId j, std::span<const Victim> others);
  bool may_take_by_due(JobId j, const Amounts& need, std::span<const Victim> grounds, std::span<const VictimChunk> chunks) const;
  void carry_out(JobId j, const RoomPlan& plan, std::span<const Victim> grounds);
  void stop_tasks(JobId v, std::span<const TaskId> tasks, Reason reason, JobId for_job);
  bool could_go_on_without(JobId v, std::span<const TaskId> tasks) const;

  // scheduler_time.cc
  bool put_off(JobId j);
  bool defer(JobId j);
  std::optional<Slot> slot_at_its_turn(JobId j);
  std::optional<Slot> slot_for(JobId j) const;
  std::optional<Slot> slot_before(JobId j, Instant deadline) const;
  bool withhold_dearer(JobId j);
  bool is_closed(QueueId q, Instant at) const;
  Instant opens_at(QueueId q) const;
  void open_queues();

  // scheduler_durations.cc
  void learn_from(JobId j);
  Kin kin(JobId j) const { return j.index() < kins.size() ? kins[j.index()] : Kin(); }
  std::optional<RunForecast> forecast(JobId j) const;
  std::optional<Duration> cost_of_an_end(JobId j, Duration served) const;
  Duration longest_thinkable(JobId j) const;
  Instant likely_end(JobId j, int per_mille) const;
  std::optional<ExpectedRun> expected_run(JobId j) const;

  // scheduler.cc
  void take_in(Instant at, std::span<const Event> happened);
  void release(JobId j, TaskState then);
  void stop_serving(JobId j);
  void arrive(JobId j);
  void depart(JobId j);
  void charge(JobId j, const Amounts& amounts, int sign);
  void meter(JobId j);
  QueueBudgets::Wide burn_of(JobId j) const;
  void set_timer(TimerHeap& heap, Instant at, JobId j, TimerKind kind);
  const JobTerms& terms_of(JobId j) const { return terms[jobs[j.index()].terms]; }
  Rank rank_after(JobId j, Duration served) const;
  std::span<const Task> tasks_of(JobId j) const {
    const JobRecord& r = jobs[j.index()];
    return cluster.tasks().subspan(r.first_task, static_cast<size_t>(shapes[r.shape].tasks));
  }
  TaskId first_task(JobId j) const { return TaskId(jobs[j.index()].first_task); }
  TaskId end_task(JobId j) const {
    const JobRecord& r = jobs[j.index()];
    return TaskId(r.first_task + static_cast<uint32_t>(shapes[r.shape].tasks));
  }
};

/// Tries heads of shapes, the first in order first, until one is enough or none is left.
/// @param may_try  whether a shape (that has a head) is to be tried; false of those tried in vain.
/// @param try_head  says what became of the shape's head.
template <typename MayTry, typename TryHead>
void Scheduler::Impl::try_in_order(MayTry&& may_try, TryHead&& try_head) {
  // The first is found by looking at all. Most often it starts, and then the order is another; only when it does not are
  // the others put in line, so that n heads tried in vain cost n log n.
  bool in_line = false;
  const auto first = [&]() {
    std::optional<ShapeId> best;
    for (const ShapeId s : pending.shapes())
      if (pending.head(s) != nullptr && may_try(s) && (!best || pending.head_before(queues, s, *best))) best = s;
    return best;
  };
  const auto next_in_line = [&]() {
    std::optional<ShapeId> s = line.take(pending, queues);
    while (s && !may_try(*s))
      s = line.take(pending, queues);
    return s;
  };
  while (const std::optional<ShapeId> s = in_line ? next_in_line() : first()) {
    switch (try_head(*s)) {
      case Tried::kEnough: return;
      case Tried::kStarted: in_line = false; break;
      case Tried::kClosed:
        if (in_line && pending.head(*s) != nullptr) line.add(pending, queues, *s);
        break;
      case Tried::kInVain:
        if (in_line) break;
        in_line = true;
        line.clear();
        for (const ShapeId other : pending.shapes())
          if (other != *s && pending.head(other) != nullptr && may_try(other)) line.add(pending, queues, other);
        break;
    }
  }
}

}  // namespace stint::sched
