#include "sim/case_world.h"

#include <algorithm>
#include <set>

namespace stint {
namespace {

using namespace sched;

/// When the case takes place: late enough for every age.
constexpr Instant kCaseTime = Instant::from_seconds(1'000'000'000);

StateRules rules_of(const ClusterCase& c, VictimOrder victims) {
  PlaceRules place;
  if (c.spread_gpu_nodes) place.gpu_tasks = NodeOrder::kSpread;
  if (c.spread_cpu_nodes) place.cpu_tasks = NodeOrder::kSpread;
  if (c.spread_shared_gpus) place.shared_gpu = SharedGpu::kSpread;
  StateRules rules;
  rules.victims = victims;
  rules.stale_gang_grace = Duration::seconds(c.stale_grace_s);
  rules.pick = [place](const Cluster& cluster, RequestId r, Room room, const Scope& scope) {
    return pick_by_rules(cluster, r, room, scope, place);
  };
  return rules;
}

Status add_nodes(const ClusterCase& c, CaseWorld& world) {
  for (const CaseNode& n : c.nodes) {
    if (n.gpus > kMaxGpusPerNode) return invalid("node {} has {} GPUs; at most {} are possible", n.name, n.gpus, kMaxGpusPerNode);
    NodeSpec node;
    node.name = n.name;
    node.gpus = n.gpus;
    node.gpu_memory = Bytes::mebi(n.gpu_memory_mib);
    node.cpu_milli = n.cpu_milli;
    node.memory = Bytes::of(n.memory_bytes);
    node.max_tasks = n.max_tasks;
    node.labels = n.labels;
    node.whole_gpus = n.mig_strategy != "mixed";
    node.shared_gpus = n.mig_strategy != "single";
    node.static_mig = n.mig;
    world.node_ids[n.name] = world.state.cluster().add_node(node);
  }
  return {};
}

/// Parents before children, otherwise in the order of the case.
Result<std::map<std::string, QueueId>> add_queues(const ClusterCase& c, State& state) {
  std::map<std::string, QueueId> ids;
  for (size_t before = SIZE_MAX; ids.size() < c.queues.size() && before != ids.size();) {
    before = ids.size();
    for (const CaseQueue& q : c.queues) {
      if (ids.contains(q.name) || (!q.parent.empty() && !ids.contains(q.parent))) continue;
      QueueSpec spec = q.spec;
      if (!q.parent.empty()) spec.parent = ids.at(q.parent);
      ids[q.name] = state.queues().add(spec);
    }
  }
  if (ids.size() < c.queues.size()) return invalid("the parents of queues form a circle");
  return ids;
}

TopologyWish wish_of(const ClusterCase& c, const CaseTopologyWish& wish) {
  if (wish.topology.empty()) return {};
  return {wish.required_level, wish.preferred_level, c.topologies.at(wish.topology)};
}

Gang gang_of(const ClusterCase& c, const CaseJob& job, Cluster& cluster) {
  Gang gang;
  gang.topology = wish_of(c, job.topology);
  std::map<std::string, int32_t> leaves;
  for (size_t g = 0; g < job.groups.size(); ++g) {
    leaves[job.groups[g].name] = static_cast<int32_t>(g);
    gang.groups.push_back({job.groups[g].parent, job.groups[g].min_tasks, wish_of(c, job.groups[g].topology)});
  }
  for (const CaseTask& task : job.tasks)
    gang.tasks.push_back({cluster.intern(task.request), task.group.empty() ? -1 : leaves.at(task.group), task.priority});
  return gang;
}

void add_jobs(const ClusterCase& c, const std::map<std::string, QueueId>& queues, CaseWorld& world) {
  for (const CaseJob& job : c.jobs)
    world.jobs.push_back(&job);
  std::stable_sort(world.jobs.begin(), world.jobs.end(),
                   [](const CaseJob* a, const CaseJob* b) { return a->age_minutes > b->age_minutes; });
  for (const CaseJob* job : world.jobs) {
    const Gang gang = gang_of(c, *job, world.state.cluster());
    JobSpec spec;
    spec.queue = queues.at(job->queue);
    spec.request = gang.tasks.front().request;
    spec.gang = world.state.add_gang(gang);
    spec.tasks = static_cast<int32_t>(job->tasks.size());
    spec.min_tasks = job->min_tasks;
    spec.priority = job->priority;
    spec.preemptible = job->preemptible;
    spec.submitted = kCaseTime - Duration::minutes(job->age_minutes);
    const JobId id = world.state.add_job(spec);
    JobRun& run = world.state.job(id);
    run.started = spec.submitted;
    if (job->stale_for_s) run.broken_since = kCaseTime - Duration::seconds(*job->stale_for_s);
    world.job_ids[job->name] = id;
    for (size_t i = 0; i < job->tasks.size(); ++i) {
      world.task_ids[job->tasks[i].id] = TaskId(static_cast<uint32_t>(world.tasks.size()));
      world.tasks.push_back(&job->tasks[i]);
    }
  }
}

/// Puts the tasks where the case says they are: shared GPUs first, so that each label has a GPU of its own.
class Seating {
 public:
  explicit Seating(CaseWorld& world) : world_(world) {}

  Status seat_all() {
    for (const char* state : {"running", "releasing", "nominated"})
      for (const bool shared : {true, false})
        for (uint32_t t = 0; t < world_.tasks.size(); ++t) {
          const CaseTask& task = *world_.tasks[t];
          const bool shares = task.request.milli > 0 || task.request.gpu_memory.count() > 0;
          if (task.state == state && shares == shared) TRY(seat(TaskId(t), task));
        }
    for (uint32_t t = 0; t < world_.tasks.size(); ++t) {
      if (world_.tasks[t]->state == "failed") world_.state.gone(TaskId(t), TaskState::kFailed);
      if (world_.tasks[t]->state == "releasing") world_.state.leave(TaskId(t));
    }
    return {};
  }

 private:
  Status seat(TaskId t, const CaseTask& task) {
    const NodeId node = world_.node_ids.at(task.node);
    State& state = world_.state;
    const bool nominated = task.state == "nominated";
    std::optional<Place> place =
        state.cluster().fit(state.cluster().task(t).request, node, nominated ? Room::kComing : Room::kFree);
    if (!place) return invalid("task {} does not fit on node {}, where it is said to be", task.id, task.node);
    if (place->milli > 0) TRY(choose_gpu(task, node, *place));
    place->task = t;
    if (nominated)
      state.nominate_at(t, *place);
    else
      state.run_at(t, *place);
    return {};
  }

  /// The GPU of its label, or one that is not used yet.
  Status choose_gpu(const CaseTask& task, NodeId node, Place& place) {
    const auto label = std::pair(node, task.gpu_group);
    if (const auto it = gpu_of_.find(label); it != gpu_of_.end() && !task.gpu_group.empty()) {
      place.gpus = uint64_t{1} << it->second;
      return {};
    }
    const NodeRecord& record = world_.state.cluster().coming()[node];
    for (int gpu = 0; gpu < record.gpus; ++gpu)
      if (record.gpu_free[static_cast<size_t>(gpu)] == kMilli) {
        if (!task.gpu_group.empty()) gpu_of_[label] = gpu;
        place.gpus = uint64_t{1} << gpu;
        return {};
      }
    return invalid("no GPU of node {} is left for task {}, which shares none of those in use", task.node, task.id);
  }

  CaseWorld& world_;
  std::map<std::pair<NodeId, std::string>, int> gpu_of_;
};

}  // namespace

Result<CaseWorld> build_case_world(const ClusterCase& c, VictimOrder victims) {
  CaseWorld world{State(rules_of(c, victims)), {}, {}, {}, {}, {}};
  world.state.set_now(kCaseTime);
  TRY(add_nodes(c, world));
  TRY_ASSIGN(const auto queues, add_queues(c, world.state));
  add_jobs(c, queues, world);
  TRY(Seating(world).seat_all());
  return world;
}

}  // namespace stint
