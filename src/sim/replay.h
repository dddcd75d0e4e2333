// Replay: a scheduler over a workload, from the first submission to the end.
//
// Works with anything that has the interface of sched::Scheduler (add_node, add_queue, intern, add, step, next_wakeup), so
// that tests can put toys in its place. Nodes, queues and jobs get the ids they have in the workload.
#pragma once

#include <algorithm>
#include <concepts>
#include <span>
#include <vector>

#include "base/check.h"
#include "model/machine_labels.h"
#include "sim/replay_result.h"
#include "sim/workload.h"
#include "sim/world.h"

namespace stint::sim {

template <typename S>
concept SchedulerLike = requires(S s, const NodeSpec& node, const sched::QueueSpec& queue, const sched::Request& request,
                                 const sched::Gang& gang, const sched::JobSpec& job, Instant t, std::span<const sched::Event> e) {
  { s.add_node(node) } -> std::same_as<NodeId>;
  { s.add_queue(queue) } -> std::same_as<sched::QueueId>;
  { s.intern(request) } -> std::same_as<sched::RequestId>;
  { s.intern(gang) } -> std::same_as<sched::GangId>;
  { s.add(job) } -> std::same_as<sched::JobId>;
  { s.step(t, e) } -> std::same_as<std::span<const sched::Decision>>;
  { s.next_wakeup() } -> std::same_as<Instant>;
};

/// Sees every step before the world carries it out. Checkers, progress bars and recorders are watchers.
class Watcher {
 public:
  virtual ~Watcher() = default;
  /// @return false to end the replay here.
  virtual bool saw(Instant now, std::span<const sched::Event> events, std::span<const sched::Decision> decisions) = 0;
};

/// Makes the workload known to a new scheduler. @param workload  passed check_workload().
template <SchedulerLike S>
void load(S& scheduler, const Workload& workload) {
  for (size_t n = 0; n < workload.nodes.size(); ++n) {
    NodeSpec node = labelled(workload.nodes[n]);
    node.gpu_rate = gpu_rate_of(workload.nodes[n].node, workload.nodes[n].rate);
    CHECK(scheduler.add_node(node) == NodeId(static_cast<uint32_t>(n)), "node {} has another id", n);
  }
  for (size_t q = 0; q < workload.queues.size(); ++q)
    CHECK(scheduler.add_queue(workload.queues[q]).index() == q, "queue {} has another id", q);
  std::vector<sched::RequestId> requests;
  for (const sched::Request& request : workload.requests)
    requests.push_back(scheduler.intern(request));
  std::vector<sched::GangId> gangs;
  for (sched::Gang gang : workload.gangs) {
    for (sched::GangTask& task : gang.tasks)
      task.request = requests[task.request.index()];
    gangs.push_back(scheduler.intern(gang));
  }
  if constexpr (requires { scheduler.add_study(sched::TrialRules{}); })
    for (const Study& study : workload.studies)
      scheduler.add_study(study.rules);
  if constexpr (requires { scheduler.set_prices(market_prices(workload)); })
    if (std::ranges::any_of(workload.jobs, [](const SimJob& job) { return job.spec.deferrable; }))
      scheduler.set_prices(market_prices(workload));
  for (size_t j = 0; j < workload.jobs.size(); ++j) {
    sched::JobSpec spec = workload.jobs[j].spec;
    spec.request = requests[spec.request.index()];
    if (spec.gang.valid()) spec.gang = gangs[spec.gang.index()];
    CHECK(scheduler.add(spec).index() == j, "job {} has another id", j);
  }
}

/// Steps `scheduler`, already loaded, through `world` until it is over or a watcher has seen enough.
template <SchedulerLike S>
void drive(S& scheduler, World& world, std::span<Watcher* const> watchers = {}) {
  while (world.advance(scheduler.next_wakeup())) {
    const std::span<const sched::Decision> decisions = scheduler.step(world.now(), world.events());
    for (Watcher* watcher : watchers)
      if (!watcher->saw(world.now(), world.events(), decisions)) return;
    world.carry_out(decisions);
    if constexpr (requires { scheduler.waiting_gpu_milli(); }) world.tell_waiting(scheduler.waiting_gpu_milli());
  }
}

/// @param scheduler  new; is loaded with the workload.
template <SchedulerLike S>
ReplayResult replay(S& scheduler, const Workload& workload, const ReplayOptions& options = {},
                    std::span<Watcher* const> watchers = {}) {
  load(scheduler, workload);
  World world(workload, options);
  drive(scheduler, world, watchers);
  return world.finish();
}

}  // namespace stint::sim
