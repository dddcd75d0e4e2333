#include "cli/decide/replay_explain.h"

#include <algorithm>

#include "base/nearest.h"
#include "sched/scheduler.h"
#include "sim/replay.h"

namespace stint {

Result<ExplainedJob> explain_in_replay(const sched::Policy& policy, const sim::Workload& workload, const std::string& what) {
  const size_t mark = what.rfind('@');
  std::string name = what.substr(0, mark);
  auto found = std::ranges::find(workload.jobs, what, &sim::SimJob::name);
  std::optional<Instant> asked;
  if (found == workload.jobs.end() && mark != std::string::npos) {
    TRY_ASSIGN(asked, parse_instant(what.substr(mark + 1)));
    found = std::ranges::find(workload.jobs, name, &sim::SimJob::name);
  }
  if (found == workload.jobs.end()) {
    std::vector<std::string> names;
    for (const sim::SimJob& one : workload.jobs)
      names.push_back(one.name);
    return invalid("--explain {}: no job has that name (write JOB or JOB@2026-10-05T08:00){}", what, what_exists(name, names));
  }
  const Instant at = std::max(asked.value_or(found->spec.submitted), found->spec.submitted);
  const sched::JobId job(static_cast<uint32_t>(found - workload.jobs.begin()));
  sim::ReplayOptions options;
  options.until = at;
  sched::Scheduler scheduler(policy);
  sim::load(scheduler, workload);
  sim::World world(workload, options);
  sim::drive(scheduler, world);
  return ExplainedJob{.job = job, .at = at, .why = scheduler.explain(job)};
}

}  // namespace stint
