// The scheduler's jobs: what they asked for, where each stands, and which tasks are theirs.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sched/place/cluster.h"
#include "sched/queues/order.h"
#include "sched/queues/terms_table.h"
#include "sched/shape.h"
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
  uint32_t present_at = UINT32_MAX;  ///< index in JobBook::present; UINT32_MAX = has no task on a node
  Rank rank;                         ///< as pushed to Pending, or of the running job
  Instant latest_end;                ///< while running: as in BackfillBook::ends; kNever = not there
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

inline TaskId next(TaskId t) { return TaskId(t.index() + 1); }

/// What is kept of jobs.
struct JobBook {
  ShapeTable shapes;
  TermsTable terms = {};
  std::vector<JobRecord> records = {};
  std::vector<Kin> kins = {};       ///< by job; as long as the last job whose kin is known
  std::vector<JobId> present = {};  ///< jobs with tasks on nodes, in a reproducible order
  bool any_movable = false;         ///< has a job ever been added that could be moved?
  bool has_parts_of_gpus = false;   ///< and one that asks for less than a whole GPU?
};

class JobTable {
 public:
  /// @param cluster  with the jobs' tasks.
  JobTable(JobBook book, const Cluster& cluster) : book_(std::move(book)), cluster_(cluster) {}
  JobTable(const JobTable&) = delete;
  /// What is kept of jobs, over the cluster that is its own.
  JobTable& operator=(const JobTable& other) {
    book_ = other.book_;
    return *this;
  }
  ~JobTable() = default;

  JobBook& book() { return book_; }
  [[nodiscard]] const JobBook& book() const { return book_; }

  [[nodiscard]] size_t size() const { return book_.records.size(); }
  JobRecord& operator[](JobId j) { return book_.records[j.index()]; }
  const JobRecord& operator[](JobId j) const { return book_.records[j.index()]; }
  [[nodiscard]] const JobTerms& terms_of(JobId j) const { return book_.terms[(*this)[j].terms]; }
  [[nodiscard]] const Shape& shape(ShapeId s) const { return book_.shapes[s]; }
  [[nodiscard]] const Shape& shape_of(JobId j) const { return book_.shapes[(*this)[j].shape]; }
  [[nodiscard]] size_t shape_count() const { return book_.shapes.size(); }
  /// nullptr: all its tasks are alike.
  [[nodiscard]] const Gang* gang_of(JobId j) const { return book_.shapes.gang(terms_of(j).gang); }
  [[nodiscard]] Kin kin(JobId j) const { return j.index() < book_.kins.size() ? book_.kins[j.index()] : Kin(); }
  [[nodiscard]] bool any_movable() const { return book_.any_movable; }
  [[nodiscard]] bool has_parts_of_gpus() const { return book_.has_parts_of_gpus; }

  [[nodiscard]] TaskId first_task(JobId j) const { return TaskId((*this)[j].first_task); }
  [[nodiscard]] TaskId end_task(JobId j) const {
    return TaskId((*this)[j].first_task + static_cast<uint32_t>(shape_of(j).tasks));
  }
  [[nodiscard]] std::span<const Task> tasks_of(JobId j) const {
    return cluster_.tasks().subspan((*this)[j].first_task, static_cast<size_t>(shape_of(j).tasks));
  }
  /// What would be placed next: the tasks that must run together, or one more of an elastic job.
  [[nodiscard]] std::vector<TaskId> tasks_to_place(JobId j) const;
  [[nodiscard]] Amounts amounts_of(std::span<const TaskId> tasks) const;
  /// What it needs to start: of its tasks those that must run together.
  [[nodiscard]] Amounts least_amounts(JobId j) const;
  /// Would every leaf, or the job, keep its minimum?
  [[nodiscard]] bool could_go_on_without(JobId v, std::span<const TaskId> tasks) const;
  /// Do others mind where it runs?
  [[nodiscard]] bool is_neighbour(JobId j) const;
  /// Jobs with a task on the node, by id.
  [[nodiscard]] std::vector<JobId> jobs_on(NodeId n) const;

  [[nodiscard]] const std::vector<JobId>& present() const { return book_.present; }
  /// It has tasks on nodes from now on. / It has none any longer.
  void arrive(JobId j);
  void depart(JobId j);

  void set_timer(TimerHeap& heap, Instant at, JobId j, TimerKind kind) const;

 private:
  JobBook book_;
  const Cluster& cluster_;
};

}  // namespace stint::sched
