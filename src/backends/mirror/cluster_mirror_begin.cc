// How the books begin: what ran before is run through them again in the order of time, so that fair shares and budgets are what
// they would be had the scheduler been there; what runs now is taken over on its way.
#include <algorithm>

#include "backends/mirror/cluster_mirror.h"

namespace stint {

void ClusterMirror::begin(Instant now, const ClusterView& view, std::span<const Run> past) {
  scheduler_.emplace(policy_);
  machines_ = view.machines;
  node_ids_.clear();
  queue_ids_.clear();
  known_.clear();
  jobs_added_ = 0;
  for (ClusterMachine& machine : machines_) {
    node_ids_[machine.node.name] = scheduler_->add_node(machine.node);
    machine.takes_work = true;
  }
  for (const sched::QueueSpec& queue : queues_)
    queue_ids_[queue.name] = scheduler_->add_queue(queue);

  std::vector<PastJob> jobs;
  std::vector<Moment> moments;
  for (const Run& run : past)
    if (run.started && run.ended && *run.started < *run.ended && *run.ended <= now) add_past(run, jobs, moments);
  for (const ClusterJob& job : view.jobs) {
    std::vector<NodeId> nodes = ids_of(job.machines);
    if (job.standing != ClusterStanding::kRuns || nodes.empty()) continue;
    Known& known = add(job);
    known.phase = Phase::kRunning;
    known.nodes = nodes;
    moments.push_back({std::min(now, job.started.value_or(now)), true, jobs.size()});
    jobs.push_back({known.id, std::move(nodes), true});
  }
  std::ranges::sort(moments);
  for (const Moment& moment : moments) {
    PastJob& job = jobs[moment.index];
    sched::Event end;
    end.kind = sched::EventKind::kFinished;
    end.job = job.id;
    scheduler_->observe(moment.at, moment.begins ? std::span<const sched::Event>() : std::span(&end, 1));
    if (moment.begins && !scheduler_->adopt(job.id, job.nodes) && job.runs)
      std::erase_if(known_, [&](const auto& k) { return k.second.id == job.id; });
  }
  // What was told to save before is leaving still, and comes back as new.
  Events leaving;
  for (const ClusterJob& job : view.jobs) {
    const auto at = known_.find(job.key);
    if (at == known_.end() || !job.leaves) continue;
    at->second.phase = Phase::kLeaving;
    at->second.ends = true;
    sched::Event event;
    event.kind = sched::EventKind::kCancel;
    event.job = at->second.id;
    leaving.push_back(event);
  }
  Events away;
  take_in_machines(view, away);
  leaving.insert(leaving.end(), away.begin(), away.end());
  scheduler_->observe(now, leaving);
}

/// Each machine's part for itself: they may have held different numbers of GPUs.
void ClusterMirror::add_past(const Run& run, std::vector<PastJob>& jobs, std::vector<Moment>& moments) {
  for (const RunAllocation& allocation : run.allocations) {
    const auto node = node_ids_.find(allocation.node);
    if (node == node_ids_.end()) continue;
    sched::Request request;
    if (run.share)
      request.milli = 0;
    else
      request.gpus = static_cast<int32_t>(std::min<int64_t>(allocation.gpu_count, scheduler_->cluster().node(node->second).gpus));
    if (request.gpus == 0) request.cpu_milli = run.cpus * 1000 / static_cast<int64_t>(run.allocations.size());
    sched::JobSpec spec;
    spec.queue = queue_of(run.holder.account);
    spec.request = scheduler_->intern(request);
    spec.preemptible = false;
    spec.submitted = *run.started;
    ++jobs_added_;
    moments.push_back({*run.started, true, jobs.size()});
    moments.push_back({*run.ended, false, jobs.size()});
    jobs.push_back({scheduler_->add(spec), {node->second}, false});
  }
}

}  // namespace stint
