#include "sched/scheduler.h"

#include <algorithm>
#include <tuple>

#include "sched/scheduler_backfill.h"
#include "sched/scheduler_consolidate.h"
#include "sched/scheduler_moves.h"
#include "sched/scheduler_preempt.h"

namespace stint::sched {

Scheduler::Scheduler(const Policy& policy) : impl_(std::make_unique<Impl>(policy)) {}
Scheduler::Scheduler(const Scheduler& other) : impl_(std::make_unique<Impl>(*other.impl_)) { impl_->draft.begin(); }
Scheduler& Scheduler::operator=(const Scheduler& other) {
  if (this != &other) *this = Scheduler(other);
  return *this;
}
Scheduler::Scheduler(Scheduler&&) noexcept = default;
Scheduler& Scheduler::operator=(Scheduler&&) noexcept = default;
Scheduler::~Scheduler() = default;

NodeId Scheduler::add_node(const NodeSpec& node) {
  const NodeId id = impl_->cluster.add_node(node);
  for (uint32_t r = 0; r < impl_->cluster.request_count(); ++r)
    impl_->scores.forget(RequestId(r));  // it may be allowed on the new node
  impl_->queues.add_capacity(
      {.gpu_milli = int64_t{node.gpus} * kMilli, .cpu_milli = node.cpu_milli, .memory_bytes = node.memory.count()});
  if (id.index() == impl_->gpu_rates.size()) impl_->gpu_rates.emplace_back();
  impl_->gpu_rates[id.index()] = node.gpu_rate;
  if (node.gpus > 0) {
    impl_->price_tiers.set(id, node.gpu_rate);
    impl_->gpu_models.add(id, node.gpu_model);
  }
  impl_->capacity.set(id, node.whole_gpus ? node.gpus : NodeBuckets::kNowhere);
  ++impl_->changes;
  ++impl_->room_made;
  ++impl_->fleet_changes;
  return id;
}

void Scheduler::expect_machines() { impl_->machines_may_come = true; }

QueueId Scheduler::add_queue(const QueueSpec& queue) {
  const QueueId id = impl_->queues.add(queue);
  impl_->budgets.add(queue);
  impl_->pending.renumber(impl_->queues);
  CHECK(!queue.closed.all(), "queue {} is never open", queue.name);
  impl_->any_hours |= queue.closed.any();
  impl_->opens.push_back(kNever);
  ++impl_->changes;
  return id;
}

void Scheduler::change_queue(QueueId queue, const QueueSpec& spec) {
  CHECK(!spec.closed.all(), "queue {} is never open", spec.name);
  Impl& s = *impl_;
  s.queues.set_spec(queue, spec);
  s.any_hours |= spec.closed.any();
  // Whoever waited for a limit, or for hours, may go now: all are asked again.
  for (uint32_t q = 0; q < s.queues.size(); ++q) {
    s.opens[q] = kNever;
    s.pending.share_changed(s.queues, QueueId(q), true);
  }
  ++s.changes;
  ++s.room_made;
  ++s.fleet_changes;
}

RequestId Scheduler::intern(const Request& request) { return impl_->cluster.intern(request); }
GangId Scheduler::intern(const Gang& gang) { return impl_->shapes.intern(gang); }

StudyId Scheduler::add_study(const TrialRules& rules) {
  impl_->studies.emplace_back(rules);
  return StudyId(static_cast<uint32_t>(impl_->studies.size() - 1));
}

JobId Scheduler::add(const JobSpec& job) {
  Impl& s = *impl_;
  CHECK(job.tasks > 0 && job.min_tasks > 0 && job.min_tasks <= job.tasks, "{} of {} tasks", job.min_tasks, job.tasks);
  CHECK(job.queue.valid() && job.queue.index() < s.queues.size(), "job without a queue");
  CHECK(!job.study.valid() || job.study.index() < s.studies.size(), "no study {}", job.study.index());
  const JobId id(static_cast<uint32_t>(s.jobs.size()));
  s.stopping.lowest_priority = std::min(s.stopping.lowest_priority, job.priority);
  s.stopping.highest_priority = std::max(s.stopping.highest_priority, job.priority);
  s.any_movable |= job.preemptible && job.checkpoint.interval != kUnlimited;
  s.has_parts_of_gpus |= job.request.valid() && s.cluster.amounts(job.request).gpu_milli % kMilli != 0;
  JobRecord& record = s.jobs.emplace_back();
  record.shape = s.shapes.intern(job, s.cluster);
  record.terms = s.terms.intern(record.shape, job);
  record.queue = job.queue;
  record.submitted = job.submitted;
  record.time_limit = job.time_limit;
  record.expected = job.expected;
  if (job.kin.known()) {
    s.kins.resize(id.index() + size_t{1});
    s.kins.back() = job.kin;
  }
  record.first_task = static_cast<uint32_t>(s.cluster.tasks().size());
  const Gang* gang = s.shapes.gang(job.gang);
  for (int32_t t = 0; t < job.tasks; ++t) {
    const GangTask own =
        gang == nullptr || gang->tasks.empty() ? GangTask{.request = job.request} : gang->tasks[static_cast<size_t>(t)];
    s.cluster.add_task(id, own.request, own.group, own.priority);
  }
  return id;
}

void Scheduler::reserve(size_t jobs, size_t tasks) {
  impl_->jobs.reserve(impl_->jobs.size() + jobs);
  impl_->cluster.reserve_tasks(impl_->cluster.tasks().size() + tasks);
}

/// Time passes to `now`, and what happened changes the state.
void Scheduler::Impl::take_in(Instant at, std::span<const Event> happened) {
  CHECK(at >= now, "time goes back from {} to {}", format_utc(now), format_utc(at));
  now = at;
  draft.begin();
  const auto in_order = [](const Event& a, const Event& b) {
    return std::tuple(a.kind, a.job, a.node, a.task) < std::tuple(b.kind, b.job, b.node, b.task);
  };
  if (queues.advance(now)) {
    pending.renumber(queues);
    ++changes;
  }
  budgets.advance(now, [&](QueueId q) {
    pending.share_changed(queues, q, true);
    ++changes;
  });
  if (!std::is_sorted(happened.begin(), happened.end(), in_order)) {
    events.assign(happened.begin(), happened.end());
    std::stable_sort(events.begin(), events.end(), in_order);
    happened = events;
  }
  for (const Event& e : happened)
    apply(e);
}

std::span<const Decision> Scheduler::step(Instant now, std::span<const Event> events) {
  Impl& s = *impl_;
  s.take_in(now, events);
  const auto is_loss = [](const Event& e) {
    return e.kind == EventKind::kNodeDown || e.kind == EventKind::kNodeGone || e.kind == EventKind::kLost;
  };
  // A task that was told to leave by an earlier event of this instant (its gang lost another node, say) and has been lost with its own
  // node since is told nothing.
  if (std::ranges::any_of(events, is_loss))
    s.draft.withdraw_orders([&](TaskId t) { return s.cluster.task(t).state == TaskState::kReleasing; });
  s.fire_timers();
  if (s.any_hours) s.open_queues();
  Preemption(s).fire_level_timers();
  s.decide();
  return s.draft.close();
}

Instant Scheduler::next_wakeup() const {
  const Impl& s = *impl_;
  Instant next = s.timers.empty() ? kNever : s.timers.top().at;
  if (s.waits_for_budget && s.pending.count() > 0) next = std::min(next, s.budgets.next_renewal());
  if (s.any_hours && !s.opens.empty()) next = std::min(next, *std::ranges::min_element(s.opens));
  next = std::min({next, Consolidation(*impl_).next_search(), Preemption(*impl_).next_search()});
  return next;
}

int64_t Scheduler::waiting_gpu_milli() const {
  int64_t milli = 0;
  for (const ShapeId s : impl_->pending.shapes())
    if (impl_->pending.head(s) != nullptr) milli += impl_->pending.count(s) * impl_->shapes[s].total.gpu_milli;
  return milli;
}

uint64_t Scheduler::fingerprint() const {
  const Impl& s = *impl_;
  uint64_t hash = 0xcbf29ce484222325ULL;
  const auto mix = [&](int64_t value) { hash = (hash ^ static_cast<uint64_t>(value)) * 0x9e3779b97f4a7c15ULL; };
  mix(s.now.ns());
  for (const JobRecord& r : s.jobs) {
    mix(static_cast<int64_t>(r.phase));
    mix(r.failures);
    mix((r.in_play ? 1 : 0) + (r.on_hold ? 2 : 0) + (r.admitted ? 4 : 0));
    mix(r.cut_short);
    mix(r.started.ns());
    mix(r.served.count_ns());
    mix(r.rank.minor);
  }
  for (const Task& task : s.cluster.tasks()) {
    mix(static_cast<int64_t>(task.state));
    if (!task.on_node()) continue;
    mix(task.place.node.index());
    mix(static_cast<int64_t>(task.place.gpus));
    mix(task.place.milli);
    mix(task.place.mig_start);
  }
  for (uint32_t n = 0; n < s.cluster.node_count(); ++n)
    mix(s.cluster.free()[NodeId(n)].usable ? 1 : 0);
  for (uint32_t q = 0; q < s.queues.size(); ++q)
    s.queues.mix_into(QueueId(q), mix);
  s.budgets.mix_into(mix);
  if (s.policy.durations == Durations::kLearnt) mix(s.durations.learnt());
  for (const Reservation& r : s.backfill.reservations)
    mix(r.at.ns());
  return hash;
}

std::optional<BudgetStanding> Scheduler::budget_of(QueueId queue) const { return budget_of(queue, impl_->now); }
std::optional<BudgetStanding> Scheduler::budget_of(QueueId queue, Instant at) const { return impl_->budgets.standing(queue, at); }
const DurationBook& Scheduler::durations() const { return impl_->durations; }
void Scheduler::learn(const DurationBook& known) { impl_->durations.merge(known); }
const Cluster& Scheduler::cluster() const { return impl_->cluster; }
std::span<const Task> Scheduler::tasks_of(JobId job) const { return impl_->tasks_of(job); }

/// Where it stands when its earlier starts have served it so long.
Rank Scheduler::Impl::rank_after(JobId j, Duration served) const {
  const JobRecord& r = jobs[j.index()];
  const JobTerms& spec = terms_of(j);
  RankFacts facts = {.priority = spec.priority, .expected = r.expected, .submitted = r.submitted, .served = served};
  if (policy.durations == Durations::kLearnt && policy.order == Order::kStint) facts.cost_of_an_end = cost_of_an_end(j, served);
  if (spec.deadline != kNever) {
    const Duration thinkable = longest_thinkable(j);
    const Duration longest = thinkable == kUnlimited ? Duration() : thinkable;
    facts.latest_start = spec.deadline - std::min(longest, spec.deadline - r.submitted);
  }
  return rank_of(policy, facts);
}

void Scheduler::Impl::charge(JobId j, const Amounts& amounts, int sign) {
  const JobRecord& r = jobs[j.index()];
  Amounts change;
  add_to(change, amounts, sign);
  queues.change(r.queue, change, shapes[r.shape].preemptible);
  ++changes;
  pending.share_changed(queues, r.queue, sign < 0);
}

/// Takes `j` off the nodes entirely; its tasks become `then`.
void Scheduler::Impl::release(JobId j, TaskState then) {
  JobRecord& r = jobs[j.index()];
  const Shape& shape = shapes[r.shape];
  const bool all = r.running == shape.tasks;  // the usual case: the sum is known
  Amounts given_back = all ? shape.total : Amounts();
  for (TaskId t = first_task(j); t != end_task(j); t = next(t)) {
    const Task& task = cluster.task(t);
    if (!task.on_node()) continue;
    if (!all && task.active()) add_to(given_back, cluster.amounts(task.request));
    cluster.gone(t, then);
  }
  if (r.phase == Phase::kHeld) std::erase(held, j);
  Moves(*this).drop(j);
  r.running = r.leaving = r.held = 0;
  ++room_made;
  depart(j);
  charge(j, given_back, -1);
  meter(j);
}

/// Its queue, and those above, pay for what it holds on nodes now: what runs and what is leaving.
void Scheduler::Impl::meter(JobId j) {
  if (!budgets.any()) return;
  if (burns.size() < jobs.size()) burns.resize(jobs.size());
  const QueueBudgets::Wide burn = burn_of(j);
  const QueueBudgets::Wide before = std::exchange(burns[j.index()], burn);
  if (burn != before) budgets.change_burn(jobs[j.index()].queue, burn - before);
}

QueueBudgets::Wide Scheduler::Impl::burn_of(JobId j) const {
  QueueBudgets::Wide burn = 0;
  for (const Task& task : tasks_of(j))
    if (task.holds(Room::kFree))
      burn += QueueBudgets::Wide{gpu_rates[task.place.node.index()].per_hour().count_nanos()} * cluster.gpu_milli(task);
  return burn;
}

/// Its running time ends here.
void Scheduler::Impl::stop_serving(JobId j) {
  JobRecord& r = jobs[j.index()];
  if (r.phase != Phase::kRunning) return;
  r.served += now - r.started;
  Preemption(*this).stopped(j);
  Backfilling(*this).stopped(j);
}

void Scheduler::Impl::arrive(JobId j) {
  jobs[j.index()].present_at = static_cast<uint32_t>(present.size());
  present.push_back(j);
}

void Scheduler::Impl::depart(JobId j) {
  const uint32_t at = std::exchange(jobs[j.index()].present_at, UINT32_MAX);
  jobs[present.back().index()].present_at = at;
  std::swap(present[at], present.back());
  present.pop_back();
  jobs[j.index()].present_at = UINT32_MAX;
}

void Scheduler::Impl::set_timer(TimerHeap& heap, Instant at, JobId j, TimerKind kind) {
  const auto is_alive = [&](const Timer& t) {
    const JobRecord& r = jobs[t.job.index()];
    return t.starts == r.starts && r.phase == (t.kind == TimerKind::kBegin ? Phase::kNotYet : Phase::kRunning);
  };
  heap.set({.at = at, .job = j, .kind = kind, .starts = jobs[j.index()].starts}, is_alive);
}

}  // namespace stint::sched
