#include "daemon/live/live_runs.h"

#include <algorithm>
#include <map>

#include "daemon/live/live_telemetry.h"

namespace stint {
namespace {

/// All tasks of one attempt, as far as they are known.
struct Attempt {
  std::optional<Instant> started, ended;
  bool runs = false;  ///< a task does
  bool failed = false;
  bool stopped = false;
  bool lost = false;
  int64_t milli = 0;                             ///< held, when it is less than the GPU
  std::map<std::string, std::vector<int>> gpus;  ///< by node

  void add(const std::string& node, const std::vector<int>& indexes, int64_t held, Instant from) {
    started = started ? std::min(*started, from) : from;
    milli = indexes.size() == 1 && held < 1000 ? held : 0;
    std::vector<int>& known = gpus[node];
    for (const int index : indexes)
      if (std::ranges::find(known, index) == known.end()) known.push_back(index);
  }
};

int64_t gpus_requested(const JobView& job) {
  const auto of_task = [](int64_t milli) { return (milli + 999) / 1000; };
  if (job.groups.empty()) return int64_t{job.tasks} * (job.gpus_per_task > 0 ? job.gpus_per_task : job.gpu_milli > 0 ? 1 : 0);
  int64_t gpus = 0;
  for (const GroupView& group : job.groups)
    gpus += group.tasks * (group.gpu_part.empty() ? of_task(group.gpu_milli) : 1);
  return gpus;
}

RunState state_of(const JobView& job, const Attempt& attempt, bool is_last) {
  if (attempt.runs) return RunState::kRunning;
  if (is_last) switch (job.state) {
      case JobState::kSucceeded: return RunState::kCompleted;
      case JobState::kCancelled:
      case JobState::kStopped: return RunState::kCancelled;
      case JobState::kTimeLimit: return RunState::kTimeout;
      case JobState::kFailed: return RunState::kFailed;
      default: break;
    }
  if (attempt.lost) return RunState::kNodeFail;
  if (attempt.stopped) return RunState::kPreempted;
  return attempt.failed ? RunState::kFailed : RunState::kCompleted;
}

Tenant tenant_of_job(const JobView& job) {
  Tenant tenant = tenant_from_tags(job.tags);
  tenant.client = job.client;
  if (tenant.workload.empty()) tenant.workload = job.name;
  return tenant;
}

}  // namespace

std::vector<Run> runs_of(const JobView& job) {
  std::map<int32_t, Attempt> attempts;
  for (const EndView& end : job.ends) {
    Attempt& attempt = attempts[end.attempt];
    attempt.add(end.node, gpu_indexes(end.gpus), end.gpu_milli, end.started);
    attempt.ended = attempt.ended ? std::max(*attempt.ended, end.ended) : end.ended;
    attempt.failed = attempt.failed || end.exit_code != 0;
    attempt.stopped = attempt.stopped || end.signal != 0;
    attempt.lost = attempt.lost || end.detail.starts_with("lost");
  }
  for (const TaskView& task : job.placed) {
    Attempt& attempt = attempts[task.attempt];
    attempt.add(task.node, task.gpus, task.gpu_milli, task.started);
    attempt.runs = true;
  }
  std::vector<Run> runs;
  for (const auto& [number, attempt] : attempts) {
    Run& run = runs.emplace_back();
    run.id = std::to_string(job.id);
    run.restart = number;
    run.name = job.name;
    run.holder.job = run.id;
    run.holder.user = job.user;
    run.holder.account = job.queue;
    run.tenant = tenant_of_job(job);
    run.kind = kind_of(job);
    run.state = state_of(job, attempt, number == attempts.rbegin()->first);
    run.submitted = job.submitted;
    run.started = attempt.started;
    if (!attempt.runs) run.ended = attempt.ended;
    run.time_limit = job.time_limit;
    run.gpus_requested = gpus_requested(job);
    if (attempt.milli > 0) run.share = GpuShare::milli(attempt.milli);
    for (const auto& [node, indexes] : attempt.gpus)
      if (!indexes.empty())
        run.allocations.push_back({.node = node, .gpu_indexes = indexes, .gpu_count = static_cast<int64_t>(indexes.size())});
  }
  return runs;
}

Node history_node(const NodeView& view) {
  Node node;
  node.name = view.name;
  node.provider = view.provider;
  node.region = view.region;
  node.instance_type = view.instance_type;
  node.market = view.market;
  node.gpu_model = view.gpu_model;
  node.gpu_count = view.gpus;
  node.vcpus = view.cpu_milli / 1000;
  node.memory = view.memory;
  if (view.rate.per_hour().count_nanos() > 0) node.rate = view.rate;
  if (std::ranges::any_of(view.rates, [](const RatePoint& of) { return of.rate.per_hour().count_nanos() > 0; }))
    node.rates = view.rates;  // of none its price is not known
  return node;
}

}  // namespace stint
