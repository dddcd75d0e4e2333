// How the books begin: what ran before is run through them again in the order of time, so that fair shares and budgets are what
// they would be had the scheduler been there; what runs now is taken over on its way.
#include <algorithm>

#include "backends/slurm_mirror.h"
#include "sim/workload.h"

namespace stint {

void SlurmMirror::begin(Instant now, const SlurmView& view, std::span<const Run> past) {
  scheduler_.emplace(rules_.policy);
  machines_ = view.machines;
  node_ids_.clear();
  queue_ids_.clear();
  known_.clear();
  notes_.clear();
  jobs_added_ = 0;
  for (const SlurmMachine& machine : machines_) {
    NodeSpec node = stint::node_of(machine);
    const auto rate = rules_.rates.find(machine.name);
    if (rate != rules_.rates.end()) node.gpu_rate = gpu_rate_of(node, rate->second);
    node_ids_[machine.name] = scheduler_->add_node(node);
  }
  for (const sched::QueueSpec& queue : rules_.queues)
    queue_ids_[queue.name] = scheduler_->add_queue(queue);

  std::vector<PastJob> jobs;
  std::vector<Moment> moments;
  for (const Run& run : past)
    if (run.started && run.ended && *run.started < *run.ended && *run.ended <= now) add_past(run, jobs, moments);
  const std::vector<Found> found = look_at(now, view);
  for (const Found& f : found) {
    if (f.standing != Standing::kRuns || f.nodes.empty()) continue;
    Known& known = add(f);
    known.phase = Phase::kRunning;
    known.nodes = f.nodes;
    moments.push_back({std::min(now, f.entry->started.value_or(now)), true, jobs.size()});
    jobs.push_back({known.id, f.nodes, true});
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
  for (const Found& f : found) {
    const auto at = known_.find(f.key);
    if (at == known_.end() || !f.note.leaves) continue;
    at->second.phase = Phase::kLeaving;
    at->second.ends = true;
    sched::Event event;
    event.kind = sched::EventKind::kCancel;
    event.job = at->second.id;
    leaving.push_back(event);
  }
  Events away;
  for (SlurmMachine& machine : machines_)
    machine.takes_work = true;
  take_in_machines(now, view, away);
  leaving.insert(leaving.end(), away.begin(), away.end());
  scheduler_->observe(now, leaving);
}

/// Each machine's part for itself: they may have held different numbers of GPUs.
void SlurmMirror::add_past(const Run& run, std::vector<PastJob>& jobs, std::vector<Moment>& moments) {
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
