#include "sched/search/state.h"

#include <algorithm>

#include "base/check.h"

namespace stint::sched {
namespace {

/// What a node has, as queues count it: a node whose GPUs are given out as MIG instances has their compute slices.
Amounts capacity(const Cluster& cluster, const NodeSpec& node) {
  Amounts all{0, node.cpu_milli, node.memory.count()};
  if (node.whole_gpus) all.gpu_milli = int64_t{node.gpus} * kMilli;
  if (node.whole_gpus) return all;
  for (const MigAsk& instance : node.static_mig)
    all.gpu_milli += cluster.counted_milli(instance.profile) * instance.count;
  return all;
}

}  // namespace

GangId State::add_gang(const Gang& gang) {
  gangs_.push_back(gang);
  return GangId(static_cast<uint32_t>(gangs_.size() - 1));
}

JobId State::add_job(const JobSpec& spec) {
  const JobId id(static_cast<uint32_t>(jobs_.size()));
  JobRun run;
  run.spec = spec;
  run.gang = spec.gang.valid() ? &gangs_[spec.gang.index()] : nullptr;
  const bool differ = run.gang != nullptr && !run.gang->tasks.empty();
  for (int32_t i = 0; i < spec.tasks; ++i) {
    const GangTask task = differ ? run.gang->tasks[static_cast<size_t>(i)] : GangTask{spec.request, -1, 0};
    const TaskId t = cluster_.add_task(id, task.request, task.group, task.priority);
    if (i == 0) run.first = t;
  }
  know(id, run);
  return id;
}

void State::know(JobId j, const JobRun& run) {
  jobs_[j] = run;
  preemptible_.resize(queues_.size());
  if (!run.spec.preemptible) return;
  std::vector<JobId>& there = preemptible_[run.spec.queue.index()];
  there.insert(std::ranges::lower_bound(there, j), j);
}

void State::divide_shares() {
  std::vector<Amounts> requests(queues_.size());
  for (const auto& [id, run] : jobs_)
    for (int32_t i = 0; i < run.spec.tasks; ++i) {
      const Task& task = cluster_.task(TaskId(run.first.index() + static_cast<uint32_t>(i)));
      if (task.active() || task.state == TaskState::kPending)
        add_amounts(requests[run.spec.queue.index()], cluster_.amounts(task.request));
    }
  for (size_t q = 0; q < requests.size(); ++q)
    queues_.set_request(QueueId(static_cast<uint32_t>(q)), requests[q]);
  Amounts total;
  for (uint32_t n = 0; n < cluster_.node_count(); ++n)
    add_amounts(total, capacity(cluster_, cluster_.node(NodeId(n))));
  queues_.divide(total);
}

std::span<const Task> State::tasks(JobId j) const {
  const JobRun& run = job(j);
  return cluster_.tasks().subspan(run.first.index(), static_cast<size_t>(run.spec.tasks));
}

Amounts State::amounts(std::span<const TaskId> tasks) const {
  Amounts sum;
  for (const TaskId t : tasks)
    add_amounts(sum, cluster_.amounts(cluster_.task(t).request));
  return sum;
}

int32_t State::active(JobId j) const {
  const std::span<const Task> all = tasks(j);
  return static_cast<int32_t>(std::count_if(all.begin(), all.end(), [](const Task& t) { return t.active(); }));
}

int32_t State::running(JobId j) const {
  const std::span<const Task> all = tasks(j);
  return static_cast<int32_t>(
      std::count_if(all.begin(), all.end(), [](const Task& t) { return t.state == TaskState::kRunning; }));
}

bool State::whole(JobId j) const {
  const Gang* g = gang(j);
  if (g == nullptr || g->groups.empty()) return active(j) >= job(j).spec.min_tasks;
  const std::span<const Task> all = tasks(j);
  for (size_t leaf = 0; leaf < g->groups.size(); ++leaf) {
    const auto in_leaf = [&](const Task& t) { return t.active() && t.group == static_cast<int32_t>(leaf); };
    if (std::count_if(all.begin(), all.end(), in_leaf) < g->groups[leaf].min_tasks) return false;
  }
  return true;
}

std::vector<TaskId> State::next_tasks(JobId j) const {
  const JobRun& run = job(j);
  return sched::next_tasks(cluster_, run.first, run.spec.tasks, gang(j), run.spec.min_tasks);
}

std::span<const JobId> State::preemptible_in(QueueId q) const {
  if (q.index() >= preemptible_.size()) return {};
  return preemptible_[q.index()];
}

int64_t State::lost_work(std::span<const TaskId> tasks) const {
  const JobRun& run = job(cluster_.task(tasks.front()).job);
  const bool runs = std::ranges::any_of(tasks, [&](TaskId t) { return cluster_.task(t).state == TaskState::kRunning; });
  return runs ? (now_ - std::max(run.started, run.saved) + run.spec.checkpoint.restart).count_ns() : 0;
}

void State::charge(TaskId t, int64_t times) {
  const Task& task = cluster_.task(t);
  const JobSpec& spec = job(task.job).spec;
  queues_.charge(spec.queue, cluster_.amounts(task.request), spec.preemptible, times);
}

bool State::place(std::span<const TaskId> tasks, Room room) {
  CHECK(!tasks.empty(), "nothing to place");
  const JobId j = cluster_.task(tasks.front()).job;
  const JobSpec& spec = job(j).spec;
  if (!queues_.within_limits(spec.queue, amounts(tasks), spec.preemptible)) return false;
  const bool placed = rules_.place
                          ? rules_.place(j, tasks, room)
                          : place_gang(cluster_, tasks, rules_.pick,
                                       {.gang = gang(j), .mates = this->tasks(j), .room = room, .now = now_, .within = {}});
  if (!placed) return false;
  for (const TaskId t : tasks)
    charge(t, 1);
  return true;
}

void State::leave(TaskId t) {
  cluster_.leave(t);
  charge(t, -1);
}

void State::stop(TaskId t) {
  if (cluster_.task(t).state == TaskState::kRunning)
    leave(t);
  else
    gone(t, TaskState::kPending);
}

void State::gone(TaskId t, TaskState then) {
  if (cluster_.task(t).active()) charge(t, -1);
  cluster_.gone(t, then);
}

void State::run_at(TaskId t, const Place& place) {
  const bool counted = cluster_.task(t).active();
  cluster_.run(t, place, now_);
  if (!counted) charge(t, 1);
}

void State::nominate_at(TaskId t, const Place& place) {
  const bool counted = cluster_.task(t).active();
  cluster_.nominate(t, place);
  if (!counted) charge(t, 1);
}

}  // namespace stint::sched
