#include "sim/trace_workload.h"

#include <algorithm>
#include <map>

#include "base/check.h"

namespace stint::sim {
namespace {

constexpr int32_t kServicePriority = 100;
const sched::CheckpointBehaviour kSaves = {
    .interval = Duration::hours(1), .save = Duration::minutes(1), .restart = Duration::minutes(5)};

class TraceBuilder {
 public:
  TraceBuilder(const JobTrace& trace, std::vector<SimNode> fleet) : trace_(trace) {
    Workload& w = out_.workload;
    w.nodes = std::move(fleet);
    for (const SimNode& node : w.nodes)
      largest_ = std::max(largest_, node.node.gpus);
    for (const std::string& owner : trace.users.empty() ? trace.clusters : trace.users) {
      sched::QueueSpec queue;
      queue.name = owner.empty() ? "unowned" : owner;
      queue.created = static_cast<int32_t>(w.queues.size());
      w.queues.push_back(queue);
    }
    for (const TraceShape& shape : trace.shapes)
      models_known_.push_back(std::ranges::any_of(w.nodes, [&](const SimNode& n) { return is_wanted(shape, n); }));
  }

  Result<TraceWorkload> build() {
    for (size_t i = 0; i < trace_.jobs.size(); ++i)
      add(trace_.jobs[i], i);
    std::vector<SimJob>& jobs = out_.workload.jobs;
    if (jobs.empty()) return invalid("no job of the trace has a length above 0: nothing to replay");
    std::stable_sort(jobs.begin(), jobs.end(),
                     [](const SimJob& a, const SimJob& b) { return a.spec.submitted < b.spec.submitted; });
    TRY(check_workload(out_.workload));
    return std::move(out_);
  }

 private:
  static bool is_wanted(const TraceShape& shape, const SimNode& node) {
    return std::ranges::find(shape.gpu_models, node.node.gpu_model) != shape.gpu_models.end();
  }

  void add(const TraceJob& job, size_t index) {
    if (job.duration <= Duration()) {
      ++out_.of_no_length;
      return;
    }
    static const TraceShape kGpusOnly;
    const TraceShape& shape = trace_.shapes.empty() ? kGpusOnly : trace_.shapes[job.shape];
    SimJob sim;
    sim.name = fmt::format("job {}", index + 1);
    sim.run_time = job.duration;
    sim.spec.submitted = job.submitted;
    sim.spec.queue = sched::QueueId(trace_.users.empty() ? job.cluster : job.user);
    if (!trace_.users.empty() || !trace_.names.empty())
      sim.spec.kin =
          sched::kin_of(trace_.users.empty() ? "" : trace_.users[job.user], trace_.names.empty() ? "" : trace_.names[job.name]);
    const bool whole_nodes = job.gpus % largest_ == 0;
    const int32_t per_task = job.gpus <= largest_ ? job.gpus : whole_nodes ? largest_ : 1;
    sim.spec.tasks = sim.spec.min_tasks = job.gpus / per_task;
    sim.spec.request = request_of(job, shape, per_task, sim.spec.tasks);
    if (shape.is_service) {
      sim.spec.preemptible = false;
      sim.spec.priority = kServicePriority;
      sim.spec.checkpoint.restart = kSaves.restart;
      ++out_.services;
    } else {
      sim.spec.checkpoint = kSaves;
    }
    out_.workload.jobs.push_back(std::move(sim));
  }

  sched::RequestId request_of(const TraceJob& job, const TraceShape& shape, int32_t per_task, int32_t tasks) {
    const bool models_known = !shape.gpu_models.empty() && models_known_[job.shape];
    if (!shape.gpu_models.empty() && !models_known) ++out_.models_unknown;
    const auto [known, is_new] =
        ids_.emplace(std::pair(job.shape, job.gpus), sched::RequestId(static_cast<uint32_t>(out_.workload.requests.size())));
    if (is_new) {
      sched::Request& request = out_.workload.requests.emplace_back();
      if (shape.milli > 0)
        request.milli = shape.milli;
      else
        request.gpus = per_task;
      request.cpu_milli = shape.cpu_milli / tasks;
      request.memory = Bytes::of(shape.memory.count() / tasks);
      if (models_known) request.gpu_models = shape.gpu_models;
    }
    return known->second;
  }

  const JobTrace& trace_;
  TraceWorkload out_;
  int32_t largest_ = 1;
  std::vector<bool> models_known_;                                // by shape: some node has one of its models
  std::map<std::pair<uint32_t, int32_t>, sched::RequestId> ids_;  // by shape and GPUs
};

}  // namespace

Result<TraceWorkload> workload_of(const JobTrace& trace, std::vector<SimNode> fleet) {
  CHECK(!fleet.empty(), "a fleet without nodes");
  return TraceBuilder(trace, std::move(fleet)).build();
}

}  // namespace stint::sim
