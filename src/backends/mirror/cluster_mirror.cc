#include "backends/mirror/cluster_mirror.h"

#include <algorithm>

#include "base/check.h"
#include "sched/reason_words.h"

namespace stint {
namespace {

sched::Event event_about(sched::EventKind kind, sched::JobId job) {
  sched::Event event;
  event.kind = kind;
  event.job = job;
  return event;
}

}  // namespace

size_t ClusterMirror::waiting() const {
  return static_cast<size_t>(std::ranges::count_if(known_, [](const auto& k) { return k.second.phase == Phase::kWaiting; }));
}
size_t ClusterMirror::running() const {
  return static_cast<size_t>(std::ranges::count_if(
      known_, [](const auto& k) { return k.second.phase == Phase::kRunning || k.second.phase == Phase::kLeaving; }));
}

std::map<std::string, sched::BudgetStanding> ClusterMirror::budgets() const {
  std::map<std::string, sched::BudgetStanding> budgets;
  for (const auto& [name, queue] : queue_ids_)
    if (const auto standing = scheduler_->budget_of(queue)) budgets.emplace(name, *standing);
  return budgets;
}

std::vector<ClusterOrder> ClusterMirror::pass(Instant now, const ClusterView& view) {
  CHECK(scheduler_ && view.machines.size() == machines_.size(), "a pass without begin()");
  Events events;
  take_in_machines(view, events);
  std::vector<const ClusterJob*> changed;
  for (const ClusterJob& job : view.jobs)
    if (compare(job, events)) changed.push_back(&job);
  cancel_unseen(events);
  scheduler_->observe(now, events);
  Events submits;
  take_up(changed, submits);

  std::map<sched::JobId, size_t> by_id;
  for (size_t i = 0; i < view.jobs.size(); ++i)
    if (const auto at = known_.find(view.jobs[i].key); at != known_.end()) by_id.emplace(at->second.id, i);
  std::vector<ClusterOrder> orders;
  for (const sched::Decision& decision : scheduler_->step(now, submits)) {
    const auto at = by_id.find(decision.job);
    CHECK(at != by_id.end(), "a decision for a job that is not in the queue");
    auto order = order_for(decision, view.jobs[at->second], at->second);
    if (!order) continue;
    const auto for_job = by_id.find(decision.for_job);
    order->why = fmt::format("{}{}", sched::describe(decision.reason),
                             for_job == by_id.end() ? std::string() : fmt::format(": {}", view.jobs[for_job->second].key));
    orders.push_back(std::move(*order));
  }
  return orders;
}

void ClusterMirror::take_in_machines(const ClusterView& view, Events& events) {
  for (size_t n = 0; n < machines_.size(); ++n) {
    const bool takes_work = view.machines[n].takes_work;
    if (std::exchange(machines_[n].takes_work, takes_work) == takes_work) continue;
    sched::Event event;
    // Also of one that is down: what becomes of its jobs the cluster tells with the jobs.
    event.kind = takes_work ? sched::EventKind::kNodeUp : sched::EventKind::kNodeDrain;
    event.node = NodeId(static_cast<uint32_t>(n));
    events.push_back(event);
  }
}

bool ClusterMirror::compare(const ClusterJob& job, Events& events) {
  const auto at = known_.find(job.key);
  if (at == known_.end()) return job.standing != ClusterStanding::kEnded && job.standing != ClusterStanding::kNotOurs;
  Known& known = at->second;
  known.seen = true;
  const bool on_nodes = known.phase == Phase::kRunning || known.phase == Phase::kLeaving;
  switch (job.standing) {
    case ClusterStanding::kNotOurs: cancel(job.key, events); return false;
    case ClusterStanding::kEnded:
      if (!on_nodes) {
        cancel(job.key, events);
        return false;
      }
      events.push_back(event_about(job.succeeded ? sched::EventKind::kFinished : sched::EventKind::kFailed, known.id));
      known_.erase(at);
      return false;
    case ClusterStanding::kWaits:
    case ClusterStanding::kOnHold: return compare_waiting(job, known, events);
    case ClusterStanding::kStarts:
    case ClusterStanding::kRuns: break;
  }
  const bool as_known = on_nodes && known.nodes == ids_of(job.machines) && known.restarts == job.restarts;
  if (as_known) return false;
  // Elsewhere than it was, or started by somebody else.
  cancel(job.key, events);
  return true;
}

bool ClusterMirror::compare_waiting(const ClusterJob& job, Known& known, Events& events) {
  if (known.request != job.request || known.tasks != job.tasks || known.time_limit != job.time_limit || known.ends) {
    cancel(job.key, events);
    return true;
  }
  if (known.phase == Phase::kRejected) return false;
  if (known.phase == Phase::kRunning || known.phase == Phase::kLeaving) {
    lose(known, events);
    known.phase = Phase::kWaiting;
  }
  known.restarts = job.restarts;
  const Phase phase = job.standing == ClusterStanding::kWaits ? Phase::kWaiting : Phase::kOnHold;
  if (known.phase != phase) {
    events.push_back(event_about(phase == Phase::kWaiting ? sched::EventKind::kRelease : sched::EventKind::kHold, known.id));
    known.phase = phase;
  }
  return false;
}

/// Its tasks are off their machines, however they came off.
void ClusterMirror::lose(Known& known, Events& events) const {
  for (size_t i = 0; i < known.nodes.size(); ++i) {
    sched::Event event = event_about(sched::EventKind::kLost, known.id);
    const auto first = static_cast<uint32_t>(scheduler_->tasks_of(known.id).data() - scheduler_->cluster().tasks().data());
    event.task = sched::TaskId(first + static_cast<uint32_t>(i));
    events.push_back(event);
  }
  known.nodes.clear();
}

/// Out of the books.
void ClusterMirror::cancel(std::string_view key, Events& events) {
  const auto at = known_.find(key);
  lose(at->second, events);
  if (at->second.phase != Phase::kRejected) events.push_back(event_about(sched::EventKind::kCancel, at->second.id));
  known_.erase(at);
}

/// A cluster forgets jobs some time after they have ended.
void ClusterMirror::cancel_unseen(Events& events) {
  std::vector<std::string> gone;
  for (auto& [key, known] : known_)
    if (!std::exchange(known.seen, false)) gone.push_back(key);
  for (const std::string& key : gone)
    cancel(key, events);
}

ClusterMirror::Known& ClusterMirror::add(const ClusterJob& job) {
  sched::JobSpec spec;
  spec.queue = queue_of(job.queue);
  spec.request = scheduler_->intern(job.request);
  spec.tasks = spec.min_tasks = job.tasks;
  spec.priority = job.priority;
  spec.preemptible = job.preemptible;
  spec.submitted = job.submitted.value_or(Instant());
  if (job.time_limit) spec.time_limit = *job.time_limit;
  if (job.deadline) spec.deadline = *job.deadline;
  spec.checkpoint = job.checkpoint;
  ++jobs_added_;
  return known_[job.key] = Known{.id = scheduler_->add(spec),
                                 .restarts = job.restarts,
                                 .request = job.request,
                                 .tasks = job.tasks,
                                 .time_limit = job.time_limit};
}

/// Those that run hold room before anything is decided.
void ClusterMirror::take_up(std::span<const ClusterJob* const> changed, Events& submits) {
  for (const ClusterJob* job : changed) {
    if (job->standing == ClusterStanding::kStarts || job->standing == ClusterStanding::kRuns) {
      std::vector<NodeId> nodes = ids_of(job->machines);
      if (nodes.empty()) continue;  // on machines that the cluster no longer names
      Known& known = add(*job);
      known.phase = Phase::kRunning;
      known.nodes = std::move(nodes);
      if (scheduler_->adopt(known.id, known.nodes)) continue;
      // More than the books think the machine has. It is looked at again with the next pass.
      known_.erase(job->key);
      continue;
    }
    Known& known = add(*job);
    known.phase = job->standing == ClusterStanding::kWaits ? Phase::kWaiting : Phase::kOnHold;
    if (known.phase == Phase::kOnHold) submits.push_back(event_about(sched::EventKind::kHold, known.id));
    submits.push_back(event_about(sched::EventKind::kSubmit, known.id));
  }
}

std::optional<ClusterOrder> ClusterMirror::order_for(const sched::Decision& decision, const ClusterJob& job, size_t index) {
  Known& known = known_.find(job.key)->second;
  switch (decision.kind) {
    case sched::DecisionKind::kStart: {
      ClusterOrder order{.kind = ClusterOrderKind::kPlace, .job = index};
      known.phase = Phase::kRunning;
      for (const sched::Place& place : decision.places)
        known.nodes.push_back(place.node);
      std::ranges::sort(known.nodes);
      for (const NodeId n : known.nodes)
        order.machines.push_back(machines_[n.index()].node.name);
      return order;
    }
    case sched::DecisionKind::kEvict:
      known.phase = Phase::kLeaving;
      known.ends = decision.reason == sched::Reason::kTimeLimit || decision.reason == sched::Reason::kCancelled;
      if (known.ends) return std::nullopt;  // the cluster ends it at its limit
      return ClusterOrder{.kind = ClusterOrderKind::kStop, .job = index};
    case sched::DecisionKind::kReject:
      known.phase = Phase::kRejected;
      return ClusterOrder{.kind = ClusterOrderKind::kNever, .job = index};
    case sched::DecisionKind::kGrow:
    case sched::DecisionKind::kSkip: break;
  }
  CHECK(false, "neither elastic jobs nor products are known to a cluster with a queue of its own");
}

sched::QueueId ClusterMirror::queue_of(const std::string& name) {
  const auto known = queue_ids_.find(name);
  if (known != queue_ids_.end()) return known->second;
  sched::QueueSpec spec;
  spec.name = name;
  spec.created = static_cast<int32_t>(queue_ids_.size());
  return queue_ids_[name] = scheduler_->add_queue(spec);
}

std::vector<NodeId> ClusterMirror::ids_of(std::span<const std::string> machines) const {
  std::vector<NodeId> ids;
  for (const std::string& name : machines) {
    const auto at = node_ids_.find(name);
    if (at == node_ids_.end()) return {};
    ids.push_back(at->second);
  }
  std::ranges::sort(ids);
  return ids;
}

std::vector<size_t> ClusterMirror::line(Instant now, std::span<const ClusterJob> jobs) const {
  ClusterMirror books = *this;
  std::map<sched::JobId, size_t> turns;
  Events submits;
  for (size_t i = 0; i < jobs.size(); ++i) {
    submits.push_back(event_about(sched::EventKind::kSubmit, books.add(jobs[i]).id));
    turns.emplace(submits.back().job, i);
  }
  books.scheduler_->observe(now, submits);
  std::vector<size_t> order;
  for (const sched::JobId job : books.scheduler_->waiting_line())
    if (const auto turn = turns.find(job); turn != turns.end()) order.push_back(turn->second);
  return order;
}

}  // namespace stint
