#include "sim/trace_workload.h"

#include <algorithm>

#include "base/check.h"

namespace stint::sim {

Result<Workload> workload_of(const JobTrace& trace, std::vector<SimNode> fleet) {
  CHECK(!fleet.empty(), "a fleet without nodes");
  Workload w;
  w.nodes = std::move(fleet);
  int32_t largest = 1;
  for (const SimNode& node : w.nodes)
    largest = std::max(largest, node.node.gpus);
  const std::vector<std::string>& owners = trace.users.empty() ? trace.clusters : trace.users;
  for (const std::string& owner : owners) {
    sched::QueueSpec queue;
    queue.name = owner.empty() ? "nobody's" : owner;
    queue.created = static_cast<int32_t>(w.queues.size());
    w.queues.push_back(queue);
  }
  // Requests 0 … largest − 1 ask for one more GPU than their index.
  for (int32_t gpus = 1; gpus <= largest; ++gpus) {
    sched::Request request;
    request.gpus = gpus;
    w.requests.push_back(request);
  }
  for (size_t i = 0; i < trace.jobs.size(); ++i) {
    const TraceJob& job = trace.jobs[i];
    if (job.duration <= Duration()) continue;
    SimJob sim;
    sim.name = fmt::format("job {}", i + 1);
    sim.run_time = job.duration;
    sim.spec.submitted = job.submitted;
    sim.spec.queue = sched::QueueId(trace.users.empty() ? job.cluster : job.user);
    const bool whole_nodes = job.gpus % largest == 0;
    const int32_t per_task = job.gpus <= largest ? job.gpus : whole_nodes ? largest : 1;
    sim.spec.request = sched::RequestId(static_cast<uint32_t>(per_task - 1));
    sim.spec.tasks = sim.spec.min_tasks = job.gpus / per_task;
    sim.spec.checkpoint = {.interval = Duration::hours(1), .save = Duration::minutes(1), .restart = Duration::minutes(5)};
    w.jobs.push_back(std::move(sim));
  }
  if (w.jobs.empty()) return invalid("no job of the trace has a length above 0: nothing to replay");
  std::stable_sort(w.jobs.begin(), w.jobs.end(),
                   [](const SimJob& a, const SimJob& b) { return a.spec.submitted < b.spec.submitted; });
  TRY(check_workload(w));
  return w;
}

}  // namespace stint::sim
