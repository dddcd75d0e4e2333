// Cases by the scheduler that runs live: what a case says is there is adopted, what it says waits is submitted, and the
// scheduler's decisions are carried out as a world would.
//
// The steps of a case choose the policy: `preempt`, `reclaim` and `consolidation` are the grounds on which it may stop or move
// others; on free room it starts in every step. Its own protections are kept out of the way as the cases know none: a case's minute
// of age is an hour here, so that none runs for less than it must (terms, settling, pauses between searches), and all jobs save
// their work at once, so that moving one costs nothing.
#include <algorithm>

#include "sched/scheduler.h"
#include "sim/case_engine.h"

namespace stint {
namespace {

using namespace sched;

constexpr Duration kBetweenRounds = Duration::minutes(20);  // longer than every pause between two searches

Policy policy_of(const ClusterCase& c, VictimOrder victims) {
  const auto has = [&](std::string_view step) { return std::ranges::find(c.steps, step) != c.steps.end(); };
  Policy policy;
  policy.order = Order::kFair;
  policy.backfill = Backfill::kNone;
  policy.placement = c.spread_gpu_nodes ? Placement::kSpread : Placement::kBestFit;
  policy.victims = victims;
  policy.preempt = has("preempt");
  policy.reclaim = has("reclaim");
  policy.consolidate = has("consolidation");
  policy.shares = ShareRule::kFair;
  policy.gang_grace = has("stale_gang") ? Duration::seconds(c.stale_grace_s) : kUnlimited;
  policy.cheapest = false;
  policy.ageing = {};
  policy.usage_half_life = {};
  policy.mig = MigCount::kSlices;  // as the cases count
  return policy;
}

class LiveEngine : public CaseEngine {
 public:
  LiveEngine(const ClusterCase& c, const CaseSeats& seats, const CaseQueues& queues, VictimOrder victims)
      : names_(seats.names), scheduler_(policy_of(c, victims)) {
    for (const CaseNode& n : c.nodes)
      scheduler_.add_node(node_of(n));
    for (const QueueSpec& q : queues.specs)
      scheduler_.add_queue(q);
    for (const CaseJob* job : names_.jobs) {
      JobSpec spec = job_of(
          c, *job, queues.ids.at(job->queue), [&](const Request& r) { return scheduler_.intern(r); },
          [&](const Gang& gang) { return scheduler_.intern(gang); });
      spec.submitted = kCaseTime - Duration::hours(job->age_minutes);
      spec.checkpoint.interval = Duration::nanoseconds(1);
      scheduler_.add(spec);
    }
    for (uint32_t j = 0; j < names_.jobs.size(); ++j)
      take_over(JobId(j), seats.cluster.tasks());
    now_ = kCaseTime;
  }

  void round() override {
    std::vector<Event> events = std::exchange(next_, {});
    if (began_)
      for (const TaskId t : gone())
        events.push_back({.kind = EventKind::kEvicted, .job = {}, .task = t, .node = {}, .until = {}});
    began_ = true;
    scheduler_.step(now_, events);
    now_ = now_ + kBetweenRounds;
    settled_ = false;
  }

  void settle() override { settled_ = true; }

  std::vector<Task> tasks() const override {
    const std::span<const Task> all = scheduler_.cluster().tasks().first(names_.tasks.size());
    std::vector<Task> tasks(all.begin(), all.end());
    if (!settled_) {
      promise_to_moved(tasks);
      return tasks;
    }
    for (Task& task : tasks)
      if (task.state == TaskState::kNominated || (task.state == TaskState::kReleasing && !stays(task)))
        task.state = TaskState::kPending;
    return tasks;
  }
  const Cluster& cluster() const override { return scheduler_.cluster(); }
  bool starts_in_any_step() const override { return true; }

 private:
  bool stays(const Task& task) const { return names_.jobs[task.job.index()]->deleted_when_evicted; }

  /// Those that were told to leave have left, but those that stay.
  std::vector<TaskId> gone() const {
    std::vector<TaskId> left;
    for (uint32_t t = 0; t < names_.tasks.size(); ++t)
      if (const Task& task = scheduler_.cluster().task(TaskId(t)); task.state == TaskState::kReleasing && !stays(task))
        left.emplace_back(t);
    return left;
  }

  /// Those that leave for new room have it when they have left: that is what a case calls their promise.
  void promise_to_moved(std::vector<Task>& tasks) const {
    Scheduler later = scheduler_;
    std::vector<Event> events;
    for (const TaskId t : gone())
      events.push_back({.kind = EventKind::kEvicted, .job = {}, .task = t, .node = {}, .until = {}});
    later.observe(now_, events);
    for (const Event& e : events)
      if (Task then = later.cluster().task(e.task); then.active()) {
        then.state = TaskState::kNominated;
        tasks[e.task.index()] = then;
      }
  }

  /// What is on nodes was started in the order of age; what is not waits since its time.
  void take_over(JobId j, std::span<const Task> tasks) {
    std::vector<FoundTask> found;
    const uint32_t first = names_.first_task[j.index()].index();
    for (uint32_t t = first; t < first + names_.jobs[j.index()]->tasks.size(); ++t)
      if (tasks[t].holds(Room::kFree))
        found.push_back({.task = TaskId(t),
                         .node = tasks[t].place.node,
                         .gpus = tasks[t].place.gpus,
                         .leaving = tasks[t].state == TaskState::kReleasing});
    const Instant submitted = kCaseTime - Duration::hours(names_.jobs[j.index()]->age_minutes);
    now_ = std::max(now_, submitted);
    if (found.empty()) {
      next_.push_back({.kind = EventKind::kSubmit, .job = j, .task = {}, .node = {}, .until = {}});
      return;
    }
    scheduler_.observe(now_, {});
    CHECK(scheduler_.adopt(j, found), "job {} does not fit where it was seated", names_.jobs[j.index()]->name);
  }

  const CaseNames& names_;
  Scheduler scheduler_;
  Instant now_;
  std::vector<Event> next_;
  bool began_ = false;
  bool settled_ = false;
};

}  // namespace

std::string foreign_to_live(const ClusterCase& c, const CaseSeats& seats) {
  for (const CaseJob& job : c.jobs)
    if (std::ranges::any_of(job.tasks, [](const CaseTask& task) { return task.state == "failed"; }))
      return "a task that has failed beside others that run on: here a failure is of the whole job";
  if (!c.single_step || c.steps == std::vector<std::string>{"allocate"}) return "";
  ClusterCase only_free = c;
  only_free.steps = {"allocate"};
  const auto engine = live_engine(only_free, seats, VictimOrder::kPriorityYoungest);
  if (!engine) return "";
  const std::vector<Task> before = (*engine)->tasks();
  (*engine)->round();
  const std::vector<Task> after = (*engine)->tasks();
  for (size_t t = 0; t < after.size(); ++t) {
    const CaseJob& job = *seats.names.jobs[after[t].job.index()];
    const auto expected = c.expect.jobs.find(job.name);
    if (before[t].state == TaskState::kPending && after[t].state == TaskState::kRunning && expected != c.expect.jobs.end() &&
        expected->second.state == "pending")
      return "a job that fits on free room is to wait: a moment between two steps of a round, which here begins with such starts";
  }
  return "";
}

Result<std::unique_ptr<CaseEngine>> live_engine(const ClusterCase& c, const CaseSeats& seats, VictimOrder victims) {
  TRY_ASSIGN(const CaseQueues queues, queues_of(c));
  return std::unique_ptr<CaseEngine>(std::make_unique<LiveEngine>(c, seats, queues, victims));
}

}  // namespace stint
