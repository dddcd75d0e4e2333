// Small workloads for tests: machines of whole GPUs, one queue, jobs of one-GPU tasks, times in minutes from a full hour.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/workload.h"

namespace stint::sim::testing_workload {

inline const Instant kBegin = Instant::from_seconds(1'000'000'800);
inline Instant at(int64_t minutes) { return kBegin + Duration::minutes(minutes); }
inline Rate units(int64_t per_hour) { return Rate::per_hour(Money::units(per_hour)); }

inline SimNode node(const std::string& name, int32_t gpus, int64_t units_per_hour) {
  SimNode n;
  n.node.name = name;
  n.node.gpus = gpus;
  n.market = Market::kOnDemand;
  n.rate = units(units_per_hour);
  return n;
}

inline SimJob job(int64_t submitted_min, int64_t run_min, int32_t tasks = 1) {
  SimJob j;
  j.spec.queue = sched::QueueId(0);
  j.spec.request = sched::RequestId(0);
  j.spec.tasks = j.spec.min_tasks = tasks;
  j.spec.submitted = at(submitted_min);
  j.run_time = Duration::minutes(run_min);
  return j;
}

inline Workload workload(std::vector<SimNode> nodes, std::vector<SimJob> jobs) {
  Workload w;
  w.queues.push_back({.name = "q"});
  w.requests.push_back({.gpus = 1});
  w.nodes = std::move(nodes);
  w.jobs = std::move(jobs);
  return w;
}

}  // namespace stint::sim::testing_workload
