// A scheduler in a small world, for tests: equal nodes, one queue, and a driver that carries out what it decides.
#pragma once

#include <fmt/format.h>

#include <vector>

#include "sched/scheduler.h"

namespace stint::sched::testing_world {

inline Instant at(int64_t seconds) { return Instant::from_seconds(seconds); }

inline Event event(EventKind kind, JobId job) { return {.kind = kind, .job = job, .task = {}, .node = {}, .until = {}}; }
inline Event event(EventKind kind, NodeId node) { return {.kind = kind, .job = {}, .task = {}, .node = node, .until = {}}; }

/// A scheduler with equal nodes and one queue, and a driver that carries out what it decides.
class World {
 public:
  World(Policy policy, int nodes, int gpus = 8) : scheduler(policy) {
    for (int n = 0; n < nodes; ++n)
      scheduler.add_node(node(fmt::format("n{}", n), gpus));
    QueueSpec spec;
    spec.name = "all";
    queue = scheduler.add_queue(spec);
  }

  static NodeSpec node(std::string name, int gpus) {
    NodeSpec node;
    node.name = std::move(name);
    node.gpus = gpus;
    node.cpu_milli = 1'000'000;
    node.memory = Bytes::gibi(int64_t{1000});
    return node;
  }

  JobSpec job(int gpus, int tasks = 1) {
    JobSpec spec;
    spec.queue = queue;
    Request request;
    request.gpus = gpus;
    spec.request = scheduler.intern(request);
    spec.tasks = spec.min_tasks = tasks;
    spec.checkpoint.interval = Duration::minutes(10);
    return spec;
  }

  JobId submit(Instant now, const JobSpec& spec) {
    const JobId id = scheduler.add(spec);
    step(now, {event(EventKind::kSubmit, id)});
    return id;
  }

  /// Evicted tasks stay until let_go().
  void step(Instant now, std::vector<Event> events) {
    last.clear();
    for (const Decision& d : scheduler.step(now, events)) {
      last.push_back({d.kind, d.reason, d.job, d.for_job, {d.places.begin(), d.places.end()}});
      if (d.kind == DecisionKind::kEvict)
        for (const Place& place : d.places)
          leaving.push_back(place.task);
    }
  }

  void let_go(Instant now) {
    std::vector<Event> events;
    for (const TaskId t : leaving)
      events.push_back({.kind = EventKind::kEvicted, .job = {}, .task = t, .node = {}, .until = {}});
    leaving.clear();
    step(now, events);
  }

  struct Decided {
    DecisionKind kind;
    Reason reason;
    JobId job;
    JobId for_job;
    std::vector<Place> places;
  };
  [[nodiscard]] std::vector<JobId> started() const {
    std::vector<JobId> ids;
    for (const Decided& d : last)
      if (d.kind == DecisionKind::kStart) ids.push_back(d.job);
    return ids;
  }
  [[nodiscard]] bool runs(JobId j) const { return scheduler.explain(j).standing == Standing::kRunning; }

  Scheduler scheduler;
  QueueId queue;
  std::vector<Decided> last;
  std::vector<TaskId> leaving;
};

inline Policy plain(Order order) {
  Policy policy;
  policy.order = order;
  policy.backfill = Backfill::kNone;
  return policy;
}

}  // namespace stint::sched::testing_world
