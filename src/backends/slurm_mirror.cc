#include "backends/slurm_mirror.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "codec/hostlist.h"
#include "sched/reason_words.h"

namespace stint {
namespace {

constexpr int32_t kUsualPriority = 50;
/// Of an array without a limit of its own so many tasks are looked at ahead.
constexpr size_t kMostTasksAhead = 1000;

sched::Event event_of(sched::EventKind kind, sched::JobId job) {
  sched::Event event;
  event.kind = kind;
  event.job = job;
  return event;
}

/// Where it was told to start last it did not: another time elsewhere, if there is an elsewhere.
void avoid(std::string_view tried, const std::vector<SlurmMachine>& machines, SlurmWish& wish) {
  const auto names = expand_hostlist(tried);
  if (!names.ok()) return;
  std::vector<std::string> others = wish.request.allowed_nodes;
  if (!wish.request.only_allowed_nodes)
    for (const SlurmMachine& machine : machines)
      others.push_back(machine.name);
  std::erase_if(others, [&](const std::string& name) { return std::ranges::find(*names, name) != names->end(); });
  if (static_cast<int32_t>(others.size()) < wish.nodes) return;
  wish.request.only_allowed_nodes = true;
  wish.request.allowed_nodes = std::move(others);
}

}  // namespace

std::string_view name_of(SlurmOrderKind k) {
  switch (k) {
    case SlurmOrderKind::kPlace: return "place";
    case SlurmOrderKind::kSignal: return "signal";
    case SlurmOrderKind::kRequeue: return "requeue";
    case SlurmOrderKind::kTakeBack: return "take back";
    case SlurmOrderKind::kPriority: return "priority";
    case SlurmOrderKind::kNice: return "nice";
    case SlurmOrderKind::kHold: return "hold";
    case SlurmOrderKind::kRelease: return "release";
    case SlurmOrderKind::kFeatures: return "features";
  }
  return "";
}

size_t SlurmMirror::waiting() const {
  return static_cast<size_t>(std::ranges::count_if(known_, [](const auto& k) { return k.second.phase == Phase::kWaiting; }));
}
size_t SlurmMirror::running() const {
  return static_cast<size_t>(std::ranges::count_if(
      known_, [](const auto& k) { return k.second.phase == Phase::kRunning || k.second.phase == Phase::kLeaving; }));
}

std::map<std::string, sched::BudgetStanding> SlurmMirror::budgets() const {
  std::map<std::string, sched::BudgetStanding> budgets;
  for (const auto& [account, queue] : queue_ids_)
    if (const auto standing = scheduler_->budget_of(queue)) budgets.emplace(account, *standing);
  return budgets;
}

bool SlurmMirror::follows(const SlurmView& view) const {
  const auto same = [](const SlurmMachine& a, const SlurmMachine& b) {
    return std::tie(a.name, a.gres, a.cpus, a.memory, a.partitions, a.features) ==
           std::tie(b.name, b.gres, b.cpus, b.memory, b.partitions, b.features);
  };
  return scheduler_ && std::ranges::equal(machines_, view.machines, same);
}

std::vector<SlurmOrder> SlurmMirror::pass(Instant now, const SlurmView& view) {
  CHECK(follows(view), "a pass without begin()");
  notes_.clear();
  Orders orders;
  const std::vector<Found> found = look_at(now, view);
  Events events;
  take_in_machines(now, view, events);
  std::vector<const Found*> changed;
  for (const Found& f : found) {
    if (compare(f, events)) changed.push_back(&f);
    if (is_late(f, now)) {
      const bool lost = has_run_since(f);
      orders.push_back({.kind = SlurmOrderKind::kTakeBack,
                        .job = f.key,
                        .note = {.rests = lost ? now : now + rules_.rest, .wants = f.note.wants},
                        .why = fmt::format("{}: {}", lost ? "Slurm took it off its machines" : "was released and did not begin",
                                           f.entry->reason)});
    }
    // One that saves and fails on purpose is to come back; one that ends well has ended.
    const bool left = f.standing == Standing::kEnded && f.entry->state == RunState::kFailed;
    if (f.note.leaves && (left || (f.standing == Standing::kRuns && *f.note.leaves <= now)))
      orders.push_back({.kind = SlurmOrderKind::kRequeue,
                        .job = f.key,
                        .note = {.wants = f.note.wants},
                        .why = left ? "has left as it was asked to" : "its time to save is over"});
  }
  cancel_unseen(events);
  scheduler_->observe(now, events);
  Events submits;
  take_up(changed, submits);

  std::map<sched::JobId, const Found*> by_id;
  for (const Found& f : found)
    if (const auto at = known_.find(f.key); at != known_.end()) by_id.emplace(at->second.id, &f);
  for (const sched::Decision& decision : scheduler_->step(now, submits)) {
    const auto at = by_id.find(decision.job);
    CHECK(at != by_id.end(), "a decision for a job that is not in the queue");
    const size_t before = orders.size();
    carry_out(decision, *at->second, now, orders);
    if (orders.size() > before && orders.back().why.empty()) orders.back().why = words(decision, by_id);
  }
  return orders;
}

std::string SlurmMirror::words(const sched::Decision& decision, const std::map<sched::JobId, const Found*>& jobs) const {
  const auto for_job = jobs.find(decision.for_job);
  return fmt::format("{}{}", sched::describe(decision.reason),
                     for_job == jobs.end() ? std::string() : fmt::format(": {}", for_job->second->key));
}

std::vector<SlurmMirror::Found> SlurmMirror::look_at(Instant now, const SlurmView& view) {
  std::map<std::string_view, int64_t> in_play;  // by array: tasks that are jobs of their own
  for (const SlurmEntry& entry : view.entries)
    if (entry.array_tasks.empty() && !entry.array.empty() && !has_ended(entry.state)) ++in_play[entry.array];
  std::vector<Found> found;
  for (const SlurmEntry& entry : view.entries) {
    if (entry.array_tasks.empty()) {
      look_at(entry, entry.id, now, found);
      continue;
    }
    const int64_t open = entry.array_limit > 0 ? std::max<int64_t>(0, entry.array_limit - in_play[entry.array])
                                               : static_cast<int64_t>(kMostTasksAhead);
    const auto tasks = parse_slurm_tasks(entry.array_tasks, static_cast<size_t>(open));
    if (!tasks.ok()) notes_.push_back(fmt::format("job {}: {}", entry.id, tasks.error().message));
    for (const int64_t task : tasks.ok() ? *tasks : std::vector<int64_t>())
      look_at(entry, fmt::format("{}_{}", entry.array, task), now, found);
  }
  // Ids are given out in this order: an older job has a smaller one.
  std::ranges::stable_sort(found, {}, [](const Found& f) { return std::tuple(f.entry->submitted, job_number(f.key)); });
  return found;
}

void SlurmMirror::look_at(const SlurmEntry& entry, std::string key, Instant now, std::vector<Found>& found) {
  Found f;
  f.entry = &entry;
  f.key = std::move(key);
  f.note = note_of(entry);
  f.standing = standing_of(f, now);
  if (f.standing == Standing::kRuns) f.nodes = ids_of(entry.on_nodes);
  if (f.standing == Standing::kStarts) f.nodes = ids_of(entry.required_nodes);
  const bool ours = f.standing == Standing::kWaits || f.standing == Standing::kOnHold;
  const auto refuse = [&](const Error& why) {
    if (ours) notes_.push_back(fmt::format("job {} stays held: {}", f.key, why.message));
    f.standing = ours ? Standing::kNotOurs : f.standing;
  };
  auto options = parse_slurm_options(entry.comment);
  if (!options.ok()) refuse(options.error());
  if (options.ok()) f.options = *options;
  if (ours && f.options.hold) f.standing = Standing::kOnHold;
  if (ours) {
    auto wish = wish_of(entry, f.note.wants, machines_);
    if (wish.ok())
      f.wish = std::move(*wish);
    else
      refuse(wish.error());
    const bool elsewhere = f.note.rests && now < *f.note.rests + rules_.patience;  // for a while: there may be no room but there
    if (elsewhere && entry.required_nodes != f.note.wants) avoid(entry.required_nodes, machines_, f.wish);
  } else if (!f.nodes.empty()) {
    f.wish = held_by(entry, f.nodes.size(), machines_);
  }
  found.push_back(std::move(f));
}

SlurmMirror::Standing SlurmMirror::standing_of(const Found& found, Instant now) const {
  const SlurmEntry& entry = *found.entry;
  if (has_ended(entry.state)) return Standing::kEnded;
  if (entry.state == RunState::kRunning || !entry.on_nodes.empty())
    return entry.on_nodes.empty() ? Standing::kNotOurs : Standing::kRuns;
  if (!is_driven(entry.partition)) return Standing::kNotOurs;
  if (!entry.held) {
    if (!found.note.placed) return Standing::kNotOurs;
    return is_late(found, now) ? Standing::kOnHold : Standing::kStarts;
  }
  if (found.note.unpaid && !rules_.drives) return Standing::kNotOurs;
  const bool rests = found.note.rests && *found.note.rests > now;
  return begins_later(entry, now) || rests || waits_for_others(entry) ? Standing::kOnHold : Standing::kWaits;
}

bool SlurmMirror::is_driven(std::string_view partition) const {
  if (rules_.partitions.empty()) return true;
  for (const std::string_view one : split(partition, ','))
    if (std::ranges::find(rules_.partitions, one) != rules_.partitions.end()) return true;
  return false;
}

/// Released by us some time ago, and not begun; or begun, and off its machines again, which may not come back.
bool SlurmMirror::is_late(const Found& found, Instant now) const {
  const SlurmEntry& entry = *found.entry;
  return entry.state == RunState::kPending && entry.on_nodes.empty() && !entry.held && found.note.placed &&
         (now - *found.note.placed > rules_.patience || has_run_since(found)) && is_driven(entry.partition);
}

/// Machines on which no job is, and GPUs count as used all the same; noted when that lasts longer than a job may take to begin. A slurmctld
/// that was killed can lose count (22.05: "dealloc of node bad node_offset"), and then starts nothing there until it is restarted.
std::set<std::string, std::less<>> SlurmMirror::used_without_job(Instant now, const SlurmView& view) {
  std::set<std::string, std::less<>> held, lost;
  for (const SlurmEntry& entry : view.entries)
    if (!has_ended(entry.state))
      for (const NodeId node : ids_of(entry.on_nodes))
        held.insert(machines_[node.index()].name);
  std::map<std::string, Instant, std::less<>> since;
  for (const SlurmMachine& machine : view.machines) {
    const bool empties = machine.state.find("COMPLETING") != std::string::npos;
    if (machine.gpus_used == 0 || empties || held.contains(machine.name)) continue;
    const auto before = lost_count_.find(machine.name);
    const Instant first = before == lost_count_.end() ? now : before->second;
    since.emplace(machine.name, first);
    lost.insert(machine.name);
    if (now - first <= rules_.patience || !machine.takes_work) continue;
    notes_.push_back(
        fmt::format("machine {}: Slurm counts {} GPUs as used and no job is on it, so it starts nothing there: restart slurmctld",
                    machine.name, machine.gpus_used));
  }
  lost_count_ = std::move(since);
  return lost;
}

void SlurmMirror::take_in_machines(Instant now, const SlurmView& view, Events& events) {
  const auto lost = used_without_job(now, view);
  for (size_t n = 0; n < machines_.size(); ++n) {
    const bool takes_work = view.machines[n].takes_work && !lost.contains(machines_[n].name);
    if (machines_[n].takes_work == takes_work) continue;
    machines_[n].takes_work = takes_work;
    sched::Event event;
    // Also of a node that is down: what becomes of its jobs Slurm tells with the jobs.
    event.kind = machines_[n].takes_work ? sched::EventKind::kNodeUp : sched::EventKind::kNodeDrain;
    event.node = NodeId(static_cast<uint32_t>(n));
    events.push_back(event);
  }
}

bool SlurmMirror::compare(const Found& found, Events& events) {
  const auto at = known_.find(found.key);
  if (at == known_.end()) return found.standing != Standing::kEnded && found.standing != Standing::kNotOurs;
  Known& known = at->second;
  known.seen = true;
  const bool on_nodes = known.phase == Phase::kRunning || known.phase == Phase::kLeaving;
  switch (found.standing) {
    case Standing::kNotOurs: cancel(found.key, events); return false;
    case Standing::kEnded:
      if (!on_nodes) {
        cancel(found.key, events);
        return false;
      }
      events.push_back(event_of(
          found.entry->state == RunState::kCompleted ? sched::EventKind::kFinished : sched::EventKind::kFailed, known.id));
      known_.erase(at);
      return false;
    case Standing::kWaits:
    case Standing::kOnHold: return compare_waiting(found, known, events);
    case Standing::kStarts:
    case Standing::kRuns: break;
  }
  const bool as_known = on_nodes && known.nodes == found.nodes && known.restarts == found.entry->restarts;
  if (as_known) return false;
  // Elsewhere than it was, or started by somebody else.
  cancel(found.key, events);
  return true;
}

bool SlurmMirror::compare_waiting(const Found& found, Known& known, Events& events) {
  if (known.request != found.wish.request || known.tasks != found.wish.nodes || known.time_limit != found.entry->time_limit ||
      known.ends) {
    cancel(found.key, events);
    return true;
  }
  if (known.phase == Phase::kRejected) return false;
  if (known.phase == Phase::kRunning || known.phase == Phase::kLeaving) {
    lose(known, events);
    known.phase = Phase::kWaiting;
  }
  known.restarts = found.entry->restarts;
  const Phase phase = found.standing == Standing::kWaits ? Phase::kWaiting : Phase::kOnHold;
  if (known.phase != phase) {
    events.push_back(event_of(phase == Phase::kWaiting ? sched::EventKind::kRelease : sched::EventKind::kHold, known.id));
    known.phase = phase;
  }
  return false;
}

/// Its tasks are off their nodes, however they came off.
void SlurmMirror::lose(Known& known, Events& events) const {
  for (size_t i = 0; i < known.nodes.size(); ++i) {
    sched::Event event = event_of(sched::EventKind::kLost, known.id);
    const auto first = static_cast<uint32_t>(scheduler_->tasks_of(known.id).data() - scheduler_->cluster().tasks().data());
    event.task = sched::TaskId(first + static_cast<uint32_t>(i));
    events.push_back(event);
  }
  known.nodes.clear();
}

/// Out of the books.
void SlurmMirror::cancel(std::string_view key, Events& events) {
  const auto at = known_.find(key);
  lose(at->second, events);
  if (at->second.phase != Phase::kRejected) events.push_back(event_of(sched::EventKind::kCancel, at->second.id));
  known_.erase(at);
}

/// Slurm forgets jobs some minutes after they have ended.
void SlurmMirror::cancel_unseen(Events& events) {
  std::vector<std::string> gone;
  for (auto& [key, known] : known_)
    if (!std::exchange(known.seen, false)) gone.push_back(key);
  for (const std::string& key : gone)
    cancel(key, events);
}

int32_t SlurmMirror::priority_of(const SlurmEntry& entry) const {
  const auto qos = rules_.qos.find(entry.qos);
  return qos == rules_.qos.end() ? kUsualPriority : qos->second;
}

SlurmMirror::Known& SlurmMirror::add(const Found& found) {
  const SlurmEntry& entry = *found.entry;
  sched::JobSpec spec;
  spec.queue = queue_of(entry.account);
  spec.request = scheduler_->intern(found.wish.request);
  spec.tasks = spec.min_tasks = found.wish.nodes;
  spec.priority = priority_of(entry);
  const bool ours = (found.standing != Standing::kRuns || found.note.placed) && is_driven(entry.partition);
  spec.preemptible = ours && entry.requeue;
  spec.submitted = entry.submitted.value_or(Instant());
  if (entry.time_limit) spec.time_limit = *entry.time_limit;
  if (entry.deadline) spec.deadline = *entry.deadline;
  spec.checkpoint = found.options.checkpoint;
  ++jobs_added_;
  return known_[found.key] = Known{.id = scheduler_->add(spec),
                                   .restarts = entry.restarts,
                                   .request = found.wish.request,
                                   .tasks = found.wish.nodes,
                                   .time_limit = entry.time_limit};
}

/// Those that run hold room before anything is decided.
void SlurmMirror::take_up(std::vector<const Found*>& changed, Events& submits) {
  for (const Found* found : changed) {
    if (found->standing == Standing::kStarts || found->standing == Standing::kRuns) {
      if (found->nodes.empty()) continue;  // on machines that Slurm no longer names
      Known& known = add(*found);
      known.phase = Phase::kRunning;
      known.nodes = found->nodes;
      if (scheduler_->adopt(known.id, known.nodes)) continue;
      // More than the books think the machine has. It is looked at again with the next pass.
      known_.erase(found->key);
      continue;
    }
    Known& known = add(*found);
    known.phase = found->standing == Standing::kWaits ? Phase::kWaiting : Phase::kOnHold;
    if (known.phase == Phase::kOnHold) submits.push_back(event_of(sched::EventKind::kHold, known.id));
    submits.push_back(event_of(sched::EventKind::kSubmit, known.id));
  }
}

void SlurmMirror::carry_out(const sched::Decision& decision, const Found& found, Instant now, Orders& orders) {
  Known& known = known_.find(found.key)->second;
  switch (decision.kind) {
    case sched::DecisionKind::kStart: {
      SlurmOrder order{.kind = SlurmOrderKind::kPlace, .job = found.key, .set_nodes = found.wish.set_nodes};
      known.phase = Phase::kRunning;
      for (const sched::Place& place : decision.places)
        known.nodes.push_back(place.node);
      std::ranges::sort(known.nodes);
      for (const NodeId n : known.nodes)
        order.nodes.push_back(machines_[n.index()].name);
      order.begin_now = found.entry->restarts > 0;
      order.note = {.placed = now, .restarts = found.entry->restarts, .wants = found.note.wants};
      orders.push_back(std::move(order));
      return;
    }
    case sched::DecisionKind::kEvict: {
      known.phase = Phase::kLeaving;
      known.ends = decision.reason == sched::Reason::kTimeLimit || decision.reason == sched::Reason::kCancelled;
      if (known.ends) return;  // Slurm ends it at its limit
      SlurmOrder order{.kind = SlurmOrderKind::kRequeue, .job = found.key, .note = {.wants = found.note.wants}};
      if (!found.options.signal.empty() && found.options.grace > Duration()) {
        order.kind = SlurmOrderKind::kSignal;
        order.signal = found.options.signal;
        order.note.placed = found.note.placed;
        order.note.restarts = found.note.restarts;
        order.note.leaves = now + found.options.grace;
      }
      orders.push_back(std::move(order));
      return;
    }
    case sched::DecisionKind::kReject:
      known.phase = Phase::kRejected;
      notes_.push_back(fmt::format("job {} stays held: {}", found.key, sched::describe(decision.reason)));
      return;
    case sched::DecisionKind::kGrow:
    case sched::DecisionKind::kSkip: CHECK(false, "neither elastic jobs nor products are known to Slurm");
  }
}

sched::QueueId SlurmMirror::queue_of(const std::string& account) {
  const auto known = queue_ids_.find(account);
  if (known != queue_ids_.end()) return known->second;
  sched::QueueSpec spec;
  spec.name = account;
  spec.created = static_cast<int32_t>(queue_ids_.size());
  return queue_ids_[account] = scheduler_->add_queue(spec);
}

/// Empty when it names a machine that is not there.
std::vector<NodeId> SlurmMirror::ids_of(std::string_view hostlist) const {
  std::vector<NodeId> ids;
  const auto names = expand_hostlist(hostlist);
  if (!names.ok()) return ids;
  for (const std::string& name : *names) {
    const auto at = node_ids_.find(name);
    if (at == node_ids_.end()) return {};
    ids.push_back(at->second);
  }
  std::ranges::sort(ids);
  return ids;
}

}  // namespace stint
