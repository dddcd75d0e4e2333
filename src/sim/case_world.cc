#include "sim/case_world.h"

#include <algorithm>

namespace stint {
namespace {

using namespace sched;

Status add_nodes(const ClusterCase& c, CaseSeats& seats) {
  for (const CaseNode& n : c.nodes) {
    if (n.gpus > kMaxGpusPerNode) return invalid("node {} has {} GPUs; at most {} are possible", n.name, n.gpus, kMaxGpusPerNode);
    seats.names.node_ids[n.name] = seats.cluster.add_node(node_of(n));
  }
  return {};
}

void add_jobs(const ClusterCase& c, CaseSeats& seats) {
  CaseNames& names = seats.names;
  for (const CaseJob& job : c.jobs)
    names.jobs.push_back(&job);
  std::stable_sort(names.jobs.begin(), names.jobs.end(),
                   [](const CaseJob* a, const CaseJob* b) { return a->age_minutes > b->age_minutes; });
  for (const CaseJob* job : names.jobs)
    for (const CaseTask& task : job->tasks)
      seats.cluster.intern(task.request);
  for (size_t j = 0; j < names.jobs.size(); ++j) {
    const JobId id(static_cast<uint32_t>(j));
    names.job_ids[names.jobs[j]->name] = id;
    for (const CaseTask& task : names.jobs[j]->tasks) {
      const TaskId t = seats.cluster.add_task(id, seats.cluster.intern(task.request));
      if (&task == &names.jobs[j]->tasks.front()) names.first_task.push_back(t);
      names.task_ids[task.id] = t;
      names.tasks.push_back(&task);
    }
  }
}

TopologyWish wish_of(const ClusterCase& c, const CaseTopologyWish& wish) {
  if (wish.topology.empty()) return {};
  return {wish.required_level, wish.preferred_level, c.topologies.at(wish.topology)};
}

/// Puts the tasks where the case says they are: shared GPUs first, so that each label has its own GPU.
class Seating {
 public:
  explicit Seating(CaseSeats& seats) : names_(seats.names), cluster_(seats.cluster) {}

  Status seat_all() {
    for (const char* state : {"running", "releasing", "nominated"}) {
      for (const bool shared : {true, false})
        for (uint32_t t = 0; t < names_.tasks.size(); ++t) {
          const CaseTask& task = *names_.tasks[t];
          const bool shares = task.request.milli > 0 || task.request.gpu_memory.count() > 0;
          if (task.state == state && shares == shared) TRY(seat(TaskId(t), task));
        }
    }
    for (uint32_t t = 0; t < names_.tasks.size(); ++t) {
      if (names_.tasks[t]->state == "failed") cluster_.gone(TaskId(t), TaskState::kFailed);
      if (names_.tasks[t]->state == "releasing") cluster_.leave(TaskId(t));
    }
    return {};
  }

 private:
  Status seat(TaskId t, const CaseTask& task) {
    const NodeId node = names_.node_ids.at(task.node);
    const bool nominated = task.state == "nominated";
    std::optional<Place> place = cluster_.fit(cluster_.task(t).request, node, nominated ? Room::kComing : Room::kFree);
    if (!place) return invalid("task {} does not fit on node {}, where it is said to be", task.id, task.node);
    if (place->milli > 0) TRY(choose_gpu(task, node, *place));
    place->task = t;
    if (nominated)
      cluster_.nominate(t, *place);
    else
      cluster_.run(t, *place);
    return {};
  }

  /// The GPU of its label, or one that is not used yet.
  Status choose_gpu(const CaseTask& task, NodeId node, Place& place) {
    const auto label = std::pair(node, task.gpu_group);
    if (const auto it = gpu_of_.find(label); it != gpu_of_.end() && !task.gpu_group.empty()) {
      place.gpus = uint64_t{1} << it->second;
      return {};
    }
    const NodeRecord& record = cluster_.coming()[node];
    for (int gpu = 0; gpu < record.gpus; ++gpu)
      if (record.gpu_free[static_cast<size_t>(gpu)] == kMilli) {
        if (!task.gpu_group.empty()) gpu_of_[label] = gpu;
        place.gpus = uint64_t{1} << gpu;
        return {};
      }
    return invalid("no GPU of node {} is left for task {}, which shares none of those in use", task.node, task.id);
  }

  const CaseNames& names_;
  Cluster& cluster_;
  std::map<std::pair<NodeId, std::string>, int> gpu_of_;
};

}  // namespace

NodeSpec node_of(const CaseNode& n) {
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
  return node;
}

Result<CaseQueues> queues_of(const ClusterCase& c) {
  CaseQueues queues;
  for (size_t before = SIZE_MAX; queues.specs.size() < c.queues.size() && before != queues.specs.size();) {
    before = queues.specs.size();
    for (const CaseQueue& q : c.queues) {
      if (queues.ids.contains(q.name) || (!q.parent.empty() && !queues.ids.contains(q.parent))) continue;
      QueueSpec spec = q.spec;
      spec.name = q.name;
      if (!q.parent.empty()) spec.parent = queues.ids.at(q.parent);
      queues.ids[q.name] = QueueId(static_cast<uint32_t>(queues.specs.size()));
      queues.specs.push_back(spec);
    }
  }
  if (queues.specs.size() < c.queues.size()) return invalid("the parents of queues form a circle");
  return queues;
}

JobSpec job_of(const ClusterCase& c, const CaseJob& job, QueueId queue, const std::function<RequestId(const Request&)>& intern,
               const std::function<GangId(const Gang&)>& add_gang) {
  Gang gang;
  gang.topology = wish_of(c, job.topology);
  std::map<std::string, int32_t> leaves;
  for (size_t g = 0; g < job.groups.size(); ++g) {
    leaves[job.groups[g].name] = static_cast<int32_t>(g);
    gang.groups.push_back({job.groups[g].parent, job.groups[g].min_tasks, wish_of(c, job.groups[g].topology)});
  }
  for (const CaseTask& task : job.tasks)
    gang.tasks.push_back({intern(task.request), task.group.empty() ? -1 : leaves.at(task.group), task.priority});
  JobSpec spec;
  spec.queue = queue;
  spec.request = gang.tasks.front().request;
  spec.gang = add_gang(gang);
  spec.tasks = static_cast<int32_t>(job.tasks.size());
  spec.min_tasks = job.min_tasks;
  spec.priority = job.priority;
  spec.preemptible = job.preemptible;
  return spec;
}

Result<CaseSeats> seat_case(const ClusterCase& c) {
  CaseSeats seats;
  TRY(add_nodes(c, seats));
  add_jobs(c, seats);
  TRY(Seating(seats).seat_all());
  return seats;
}

}  // namespace stint
