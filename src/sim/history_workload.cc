#include "sim/history_workload.h"

#include <algorithm>

#include "sim/run_durations.h"

namespace stint::sim {

namespace {

// The assumptions the audit makes too (ARCHITECTURE.md, "One set of books for all advice").
constexpr Duration kCheckpointEvery = Duration::hours(1);
constexpr Duration kSaving = Duration::minutes(1);
constexpr Duration kRestarting = Duration::minutes(5);
// A node whose CPUs or memory are not stated does not limit its jobs by them.
constexpr int64_t kUnknownRoom = int64_t{1} << 40;

int32_t priority_of(WorkloadKind kind) {
  switch (kind) {
    case WorkloadKind::kRealtimeInference: return 125;
    case WorkloadKind::kNotebook: return 75;
    case WorkloadKind::kTraining:
    case WorkloadKind::kFineTuning: return 50;
    case WorkloadKind::kUnknown:
    case WorkloadKind::kBatchInference:
    case WorkloadKind::kEvaluation: return 60;
  }
  return 60;
}

class HistoryBuilder {
 public:
  HistoryBuilder(const History& history, const PriceOfNode& price_of) : history_(history), price_of_(price_of) {}

  Result<HistoryWorkload> build(WithoutJobs without_jobs) {
    for (size_t n = 0; n < history_.nodes.size(); ++n)
      add_node(n);
    if (out_.workload.nodes.empty()) return invalid("no node with GPUs in the period: import an inventory or telemetry");
    out_.runs = static_cast<int64_t>(history_.runs.size());
    for (const Run& run : history_.runs)
      add_run(run);
    if (out_.workload.jobs.empty() && without_jobs == WithoutJobs::kError)
      return invalid("none of {} job records in the period can be replayed: import job records with `stint import sacct`",
                     out_.runs);
    std::stable_sort(out_.workload.jobs.begin(), out_.workload.jobs.end(),
                     [](const SimJob& a, const SimJob& b) { return a.spec.submitted < b.spec.submitted; });
    TRY(check_workload(out_.workload));
    return std::move(out_);
  }

 private:
  void leave_out(const char* reason) { ++out_.left_out[reason]; }

  void add_node(size_t index) {
    const Node& node = history_.nodes[index];
    if (node.gpu_count <= 0) return;
    if (node.gpu_count > sched::kMaxGpusPerNode) return leave_out("nodes with more than 16 GPUs");
    SimNode sim;
    sim.node.name = node.name;
    sim.node.gpu_model = node.gpu_model;
    sim.node.gpus = static_cast<int32_t>(node.gpu_count);
    sim.node.gpu_memory = gpu_memory_of(index);
    sim.node.cpu_milli = node.vcpus > 0 ? node.vcpus * 1000 : kUnknownRoom;
    sim.node.memory = node.memory.count() > 0 ? node.memory : Bytes::of(kUnknownRoom);
    sim.provider = node.provider;
    sim.region = node.region;
    sim.zone = node.zone;
    sim.instance_type = node.instance_type;
    sim.market = node.market;
    const std::optional<Rate> rate = node.rate ? node.rate : price_of_(node);
    if (rate)
      sim.rate = *rate;
    else
      ++out_.nodes_without_price;
    if (node.present_from) sim.present_from = *node.present_from;
    if (node.present_until) sim.present_until = *node.present_until;
    // In a replay too it is drained first, then neither there nor paid for.
    for (const Interval away : node.absent)
      out_.workload.outages.push_back({.node = NodeId(static_cast<uint32_t>(out_.workload.nodes.size())),
                                       .cause = OutageCause::kMaintenance,
                                       .notice = away.begin,
                                       .down = away.begin,
                                       .up = away.end});
    node_model_[node.name] = node.gpu_model;
    largest_ = std::max(largest_, sim.node.gpus);
    out_.workload.nodes.push_back(std::move(sim));
  }

  Bytes gpu_memory_of(size_t node) const {
    for (const Device& d : history_.devices)
      if (d.node.index() == node && !d.mig && d.memory.count() > 0) return d.memory;
    return {};
  }

  void add_run(const Run& run) {
    const int64_t gpus = gpus_of(run);
    if (!run.started) return leave_out("runs that never started");
    if (gpus <= 0 && !run.share) return leave_out("runs without GPUs");
    const Instant ended = run.ended ? *run.ended : history_.period.end;
    if (ended <= *run.started) return leave_out("runs of no length");
    SimJob job;
    job.name = run.name.empty() ? run.id : run.name + " (" + run.id + ")";
    job.run_time = ended - *run.started;
    for (const RunAllocation& a : run.allocations)
      job.ran_on.push_back(a.node);
    job.spec.submitted = run.submitted ? std::min(*run.submitted, *run.started) : *run.started;
    job.spec.queue = queue_of(run);
    job.spec.kin = kin_of_run(run);
    set_size(job.spec, run, gpus);
    job.spec.priority = priority_of(run.kind);
    job.spec.preemptible = !is_interactive(run.kind);
    if (run.time_limit) job.spec.time_limit = std::max(*run.time_limit, job.run_time);
    if (run.checkpointable.value_or(false))
      job.spec.checkpoint = recorded_checkpoints();
    else
      job.spec.checkpoint.restart = kRestarting;
    job.run_time = work_within(job.run_time, job.spec.checkpoint);
    out_.workload.jobs.push_back(std::move(job));
  }

  static int64_t gpus_of(const Run& run) {
    int64_t held = 0;
    for (const RunAllocation& a : run.allocations)
      held += a.gpu_count;
    return held > 0 ? held : run.gpus_requested;
  }

  /// As it lay on the nodes where that was even; else one node's worth a task, or single GPUs that may lie anywhere.
  void set_size(sched::JobSpec& spec, const Run& run, int64_t gpus) {
    sched::Request request;
    const auto& parts = run.allocations;
    const bool even = parts.size() > 1 && std::all_of(parts.begin(), parts.end(), [&](const RunAllocation& a) {
                        return a.gpu_count == parts[0].gpu_count && a.gpu_count > 0 && a.gpu_count <= largest_;
                      });
    if (run.share) {
      request.milli = static_cast<int32_t>(std::clamp<int64_t>(
          (run.share->parts() * sched::kMilli + run.share->total() - 1) / run.share->total(), 1, sched::kMilli - 1));
      request.shares_with = tenant_of_run(run).client;
    } else if (even) {
      spec.tasks = static_cast<int32_t>(parts.size());
      request.gpus = static_cast<int32_t>(parts[0].gpu_count);
    } else if (gpus <= largest_) {
      request.gpus = static_cast<int32_t>(gpus);
    } else {
      spec.tasks = static_cast<int32_t>(gpus % largest_ == 0 ? gpus / largest_ : gpus);
      request.gpus = gpus % largest_ == 0 ? largest_ : 1;
    }
    spec.min_tasks = spec.tasks;
    if (!parts.empty()) {
      const auto model = node_model_.find(parts[0].node);
      if (model != node_model_.end() && !model->second.empty()) request.gpu_models = {model->second};
    }
    spec.request = request_of(request);
  }

  sched::RequestId request_of(const sched::Request& request) {
    auto& known = out_.workload.requests;
    const auto it = std::find(known.begin(), known.end(), request);
    const auto id = sched::RequestId(static_cast<uint32_t>(it - known.begin()));
    if (it == known.end()) known.push_back(request);
    return id;
  }

  [[nodiscard]] Tenant tenant_of_run(const Run& run) const {
    return merged(run.tenant, tenant_of(run.holder, history_.tenant_rules));
  }

  /// One queue per client; without one, per project or team. A History states no quotas, so there are none.
  sched::QueueId queue_of(const Run& run) {
    const Tenant tenant = tenant_of_run(run);
    const std::string& name = !tenant.client.empty() ? tenant.client : !tenant.project.empty() ? tenant.project : tenant.team;
    const auto [it, is_new] = queue_ids_.emplace(name, sched::QueueId(static_cast<uint32_t>(out_.workload.queues.size())));
    if (is_new) {
      sched::QueueSpec queue;
      queue.name = name.empty() ? "unowned" : name;
      queue.created = static_cast<int32_t>(out_.workload.queues.size());
      out_.workload.queues.push_back(queue);
    }
    return it->second;
  }

  const History& history_;
  const PriceOfNode& price_of_;
  HistoryWorkload out_;
  std::map<std::string, std::string> node_model_;
  std::map<std::string, sched::QueueId> queue_ids_;
  int32_t largest_ = 1;
};

}  // namespace

sched::CheckpointBehaviour recorded_checkpoints() {
  return {.interval = kCheckpointEvery, .save = kSaving, .restart = kRestarting};
}

Duration work_within(Duration wall, const sched::CheckpointBehaviour& checkpoints) {
  if (checkpoints.interval == sched::kUnlimited || checkpoints.interval <= Duration()) return wall;
  // n checkpoints were taken when n intervals of work and their saving are behind, and some work is left: none is taken at the end.
  const int64_t interval = checkpoints.interval.count_ns();
  const int64_t save = checkpoints.save.count_ns();
  const int64_t taken = (wall.count_ns() - 1) / (interval + save);
  return Duration::nanoseconds(std::min(wall.count_ns() - taken * save, (taken + 1) * interval));
}

Result<HistoryWorkload> workload_of(const History& history, const PriceOfNode& price_of, WithoutJobs without_jobs) {
  return HistoryBuilder(history, price_of).build(without_jobs);
}

}  // namespace stint::sim
